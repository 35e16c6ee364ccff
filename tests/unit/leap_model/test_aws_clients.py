"""AWS is spoken to through the library's own clients, which are what tests put a stand-in before.

Arrow, for one, has an S3 client of its own that no stand-in sees and no bundle ships.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PARTS = ["layers/leap_model", "functions", "cli/commands"]
ALLOWED = {
    ("layers/leap_model/aws.py", "botocore.session"),
    ("layers/leap_model/aws.py", "botocore.config"),
    ("layers/leap_model/signing.py", "botocore.session"),  # finds credentials, asks nobody
}
OTHERS = ("boto3", "botocore", "aiobotocore", "s3fs", "fsspec", "pyarrow.fs", "pyarrow.dataset")


def others(code: str) -> set[str]:
    """Modules that speak to AWS, or to file systems that may be AWS, as code names them."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            inner = {f"{module}.{alias.name}" for alias in node.names}
            names |= (inner & set(OTHERS)) or {module}
    return {name for name in names if any(f"{name}.".startswith(f"{other}.") for other in OTHERS)}


@pytest.mark.parametrize("part", PARTS)
def test_nothing_else_speaks_to_aws(part: str) -> None:
    paths = list((ROOT / part).rglob("*.py"))
    assert paths
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        assert {(name, module) for module in others(path.read_text())} <= ALLOWED


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import boto3", "boto3"),
        ("from boto3.session import Session", "boto3.session"),
        ("from pyarrow import fs", "pyarrow.fs"),
        ("import pyarrow.dataset as ds", "pyarrow.dataset"),
        ("def later():\n    from s3fs import S3FileSystem", "s3fs"),
    ],
)
def test_another_way_that_is_planted_is_found(code: str, found: str) -> None:
    assert others(code) == {found}


@pytest.mark.parametrize("code", ["import pyarrow as pa", "import pyarrow.parquet as pq"])
def test_arrow_itself_is_none(code: str) -> None:
    assert others(code) == set()
