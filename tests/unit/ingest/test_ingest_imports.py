"""What the function loads when it starts: nothing that it does not use."""

import subprocess
import sys

LOADED = """
import sys
import functions.ingest.handler
heavy = ("sklearn", "joblib", "scipy", "pandas", "click", "rich", "functions.retrain", "cli")
print(*(name for name in heavy if name in sys.modules))
"""


def test_the_function_loads_no_training_and_no_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        env={"LEAP_STORE": "s3://fleet", "LEAP_STAGE": "prod", "AWS_DEFAULT_REGION": "eu-west-1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("", 0), done.stderr


def test_a_function_that_is_told_no_store_ends_with_one_clear_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import functions.ingest.handler"],
        env={"AWS_DEFAULT_REGION": "eu-west-1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1].endswith(
        "LEAP_STORE is missing; it must be s3://BUCKET or s3://BUCKET/PREFIX"
    )
