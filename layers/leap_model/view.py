"""The view of a store's attempts that keeps one row an attempt, for whoever reads it with SQL.

It keeps what `reading.distinct` does: the latest `completed_at`, then the greatest digest. Sources
of merged files that are still there count once, too.
"""

from typing import Final

from leap_model.table import SCHEMA

NAME: Final = "attempts"
COLUMNS: Final = tuple(SCHEMA.names)
ONE_EACH: Final = """\
SELECT {columns}, dt
FROM (
    SELECT *, row_number() OVER (
        PARTITION BY attempt_id ORDER BY completed_at DESC, record_sha256 DESC NULLS LAST
    ) AS place
    FROM {source}
) AS records
WHERE place = 1"""


def duckdb_view(root: str) -> str:
    """The statement that makes the view in DuckDB, of a store at a folder or `s3://BUCKET/PREFIX`."""
    files = f"{root.rstrip('/')}/attempts/dt=*/*.parquet".replace("'", "''")
    source = f"read_parquet('{files}', hive_partitioning = true, union_by_name = true)"
    query = ONE_EACH.format(columns=", ".join(COLUMNS), source=source)
    return f"CREATE OR REPLACE VIEW {NAME} AS\n{query};\n"
