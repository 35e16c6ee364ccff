"""What Athena is told of the store's attempts."""

import base64
import json
from datetime import date, timedelta

import pytest

from infra import views
from infra.machine import DEPLOYED
from infra.settings import Settings
from leap_model import view
from leap_model.limits import EARLIEST_YEAR
from leap_model.table import SCHEMA, partition
from tests.infrastructure.templates import Template

HIVE = {
    "string": "string",
    "int64": "bigint",
    "int32": "int",
    "double": "double",
    "timestamp[us, tz=UTC]": "timestamp",
    "map<string, double>": "map<string,double>",
}


def test_the_columns_are_those_of_attempt_files() -> None:
    assert {field.name: HIVE[str(field.type)] for field in SCHEMA} == views.COLUMNS


def test_athena_and_duckdb_are_given_the_same_view() -> None:
    assert (views.QUERY, views.VIEW) == (view.ONE_EACH, view.NAME)


def test_the_table_finds_the_days_where_they_are_written(template: Template) -> None:
    table = template.plain(template.properties("AWS::Glue::Table", "Records"))["TableInput"]
    told = table["Parameters"]
    day = date(2026, 1, 2)
    place = told["storage.location.template"].replace("${dt}", day.isoformat())
    assert place == f"s3://<StoreBucket>/{partition(day)}/"
    first, last = told["projection.dt.range"].split(",")
    assert date.fromisoformat(first) == date(EARLIEST_YEAR, 1, 1)
    assert last == f"NOW+{timedelta(days=1).days}DAYS"
    assert told["projection.dt.format"] == "yyyy-MM-dd"
    assert [key["Name"] for key in table["PartitionKeys"]] == ["dt"]


def test_the_view_says_what_it_selects(template: Template) -> None:
    properties = template.plain(template.properties("AWS::Glue::Table", "Attempts"))
    table = properties["TableInput"]
    text = table["ViewOriginalText"].removeprefix("/* Presto View: ").removesuffix(" */")
    told = json.loads(base64.b64decode(text))
    assert told["schema"] == properties["DatabaseName"] == f"leap_{template.stage}"
    assert f"FROM {views.TABLE}\n" in told["originalSql"]
    names = [column["name"] for column in told["columns"]]
    assert names == [column["Name"] for column in table["StorageDescriptor"]["Columns"]]
    assert names == [*SCHEMA.names, "dt"]
    kinds = {column["type"] for column in told["columns"]}
    assert kinds <= {
        *("varchar", "bigint", "integer", "double", "timestamp(3)", "string"),
        "map(varchar, double)",
    }


@pytest.mark.parametrize("stage", ["dev", "a-b-2"])
def test_a_database_is_named_after_its_stage_as_athena_takes_names(stage: str) -> None:
    assert Settings(stage, DEPLOYED).database.isidentifier()
