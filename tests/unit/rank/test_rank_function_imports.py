"""What a cold start loads: nothing that a ranking does not need."""

import os
import subprocess
import sys

HEAVY = {
    *("sklearn", "scipy", "pandas", "pyarrow", "pydantic", "joblib"),
    *("boto3", "botocore.session", "botocore.client", "urllib3"),
    *("cli", "functions.ingest", "functions.retrain", "infra"),
}


def _loaded(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint('loaded', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("LEAP_")},
    )
    return set(done.stdout.partition("loaded")[2].split())


def test_importing_the_handler_loads_nothing_heavier_than_numpy() -> None:
    loaded = _loaded("import functions.rank.handler")
    assert {"numpy", "aws_lambda_powertools"} <= loaded
    assert not loaded & HEAVY


def test_refusing_what_is_no_request_loads_no_aws_client() -> None:
    code = "from functions.rank.handler import handler; handler(None, None); handler({}, None)"
    assert not _loaded(code) & HEAVY
