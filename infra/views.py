"""Attempts for SQL: a table over the files, and the view that keeps one row an attempt."""

import base64
import json
from typing import Any, Final

from aws_cdk import Stack
from aws_cdk import aws_glue as glue
from constructs import Construct

from infra.settings import Settings
from infra.store import Store

TABLE: Final = "attempt_records"
VIEW: Final = "attempts"
_INPUT: Final = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
_OUTPUT: Final = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
_SERDE: Final = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"

COLUMNS: Final = {
    **dict.fromkeys(("attempt_id", "job_name", "job_family"), "string"),
    **dict.fromkeys(("model_type", "hardware_type"), "string"),
    "num_trainers": "bigint",
    **dict.fromkeys(("accelerators_per_host", "batch_size"), "double"),
    **dict.fromkeys(("launched_at", "completed_at"), "timestamp"),
    "throughput": "double",
    **dict.fromkeys(("config", "allocation"), "string"),
    "architecture": "map<string,double>",
    **dict.fromkeys(("duration_s", "cost_usd", "utilization"), "double"),
    **dict.fromkeys(("ranking", "record_sha256"), "string"),
    "schema_version": "int",
    "ingested_at": "timestamp",
}
"""Columns of attempt files by name, as Hive calls their types."""
_AS_PRESTO: Final = {
    "string": "varchar",
    "int": "integer",
    "timestamp": "timestamp(3)",
    "map<string,double>": "map(varchar, double)",
}
QUERY: Final = """\
SELECT {columns}, dt
FROM (
    SELECT *, row_number() OVER (
        PARTITION BY attempt_id ORDER BY completed_at DESC, record_sha256 DESC NULLS LAST
    ) AS place
    FROM {source}
) AS records
WHERE place = 1"""


class Views(Construct):
    """The stage's database in the account's catalogue, which Athena reads. It holds no data."""

    def __init__(self, scope: Construct, name: str, settings: Settings, store: Store) -> None:
        super().__init__(scope, name)
        catalog = Stack.of(self).account
        self.database_name = settings.database
        database = glue.CfnDatabase(
            self,
            "Database",
            catalog_id=catalog,
            database_input=glue.CfnDatabase.DatabaseInputProperty(
                name=self.database_name, description=f"Attempts of LEAP's stage {settings.stage}"
            ),
        )
        attempts = f"{store.uri}/attempts"
        for construct, table in (("Records", _records(attempts)), ("Attempts", self._view())):
            made = glue.CfnTable(
                self,
                construct,
                catalog_id=catalog,
                database_name=self.database_name,
                table_input=glue.CfnTable.TableInputProperty(**table),
            )
            made.add_resource_dependency(database)

    def _view(self) -> dict[str, Any]:
        query = QUERY.format(columns=", ".join(COLUMNS), source=TABLE)
        told = {
            "originalSql": query,
            "catalog": "awsdatacatalog",
            "schema": self.database_name,
            "columns": [
                {"name": name, "type": _AS_PRESTO.get(kind, kind)}
                for name, kind in {**COLUMNS, "dt": "string"}.items()
            ],
        }
        encoded = base64.b64encode(json.dumps(told).encode()).decode()
        return {
            "name": VIEW,
            "description": "One row an attempt, the last record of it",
            "table_type": "VIRTUAL_VIEW",
            "parameters": {"presto_view": "true", "comment": "Presto View"},
            "view_original_text": f"/* Presto View: {encoded} */",
            "view_expanded_text": "/* Presto View */",
            "partition_keys": [],
            "storage_descriptor": glue.CfnTable.StorageDescriptorProperty(
                columns=[*_columns(), glue.CfnTable.ColumnProperty(name="dt", type="string")],
                serde_info=glue.CfnTable.SerdeInfoProperty(),
            ),
        }


def _records(attempts: str) -> dict[str, Any]:
    return {
        "name": TABLE,
        "description": "Every record of every attempt; the view attempts has each attempt once",
        "table_type": "EXTERNAL_TABLE",
        "parameters": {
            "classification": "parquet",
            # Days need not be told to anyone: a query asks for those that its dates allow.
            "projection.enabled": "true",
            "projection.dt.type": "date",
            "projection.dt.format": "yyyy-MM-dd",
            "projection.dt.range": "2015-01-01,NOW+1DAYS",
            "storage.location.template": f"{attempts}/dt=${{dt}}/",
        },
        "partition_keys": [glue.CfnTable.ColumnProperty(name="dt", type="string")],
        "storage_descriptor": glue.CfnTable.StorageDescriptorProperty(
            columns=_columns(),
            location=f"{attempts}/",
            input_format=_INPUT,
            output_format=_OUTPUT,
            serde_info=glue.CfnTable.SerdeInfoProperty(serialization_library=_SERDE),
        ),
    }


def _columns() -> list[glue.CfnTable.ColumnProperty]:
    return [glue.CfnTable.ColumnProperty(name=name, type=kind) for name, kind in COLUMNS.items()]
