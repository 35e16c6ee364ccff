"""What a cold start loads: nothing that a ranking does not need."""

import os
import subprocess
import sys

HEAVY = {
    *("sklearn", "scipy", "pandas", "pyarrow", "pydantic", "joblib"),
    *("boto3", "botocore.session", "botocore.client", "urllib3"),
    *("cli", "functions.ingest", "functions.retrain", "infra"),
    # A router of two lines needs none of it, and it brings the rest.
    *("aws_lambda_powertools.event_handler", "asyncio"),
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


def test_the_clients_that_fetch_a_model_load_botocore_alone() -> None:
    code = (
        "import os; os.environ['AWS_DEFAULT_REGION'] = 'eu-west-1'\n"
        "from leap_model import Ranker; Ranker.from_aws('prod', store_uri='s3://fleet')"
    )
    loaded = _loaded(code)
    assert {"botocore.session", "botocore.client"} <= loaded
    assert not loaded & {"boto3", "s3transfer", "sklearn", "scipy", "pandas", "pyarrow", "pydantic"}
