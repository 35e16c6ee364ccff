"""python -m bench [NAME …]: run benchmarks, by default all but the long, one table each."""

import importlib
import sys

from cli.console import out, print_table

BENCHMARKS = (
    *(
        "engine",
        "holding",
        "families",
        "histories",
        "ranking",
        "intake",
        "nightly",
        "cascade",
        "growth",
        "threads",
        "measured",
        "cost",
    ),
)
LONG = ("presets", "soak", "cold_start", "load", "merging", "killed", "processes", "month")
"""They take long, or the local AWS that make demo sets up: run when they are named."""


def main(names: list[str]) -> int:
    """Run the benchmarks of these names; 2 for a name that there is none of."""
    unknown = [name for name in names if name not in (*BENCHMARKS, *LONG)]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join((*BENCHMARKS, *LONG))}")
        return 2
    for name in names or BENCHMARKS:
        module = importlib.import_module(f"bench.{name}")
        rows = module.run()
        if rows:
            print_table((module.__doc__ or name).splitlines()[0], module.COLUMNS, rows)
        else:
            out.print(f"{name}: skipped, what it needs is not here")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
