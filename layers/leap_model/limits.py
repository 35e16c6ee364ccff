"""Every default, limit and unit of the library, in one place."""

from typing import Final

# Text, in characters.
LONGEST_ATTEMPT_ID: Final = 256
LONGEST_JOB_NAME: Final = 1024
LONGEST_NAME: Final = 256
"""Model types, hardware types, candidate ids, and names of configuration values."""
LONGEST_TEXT_VALUE: Final = 4096
"""One text value of a configuration."""

# Sizes.
MOST_ENTRIES: Final = 1_000
"""Entries of one config, allocation or architecture."""
MOST_CANDIDATES: Final = 1_000
MOST_REQUEST_BYTES: Final = 256 * 1024
MOST_RECORD_BYTES: Final = 1024 * 1024
"""One attempt as JSON: what EventBridge takes."""
MOST_TRAINERS: Final = 1_000_000
MOST_ACCELERATORS_PER_HOST: Final = 1e6
"""More is a unit mistaken, and would carry a prediction past what a number can hold."""
MOST_HARDWARE_TYPES: Final = 4_096

# Attempts.
EARLIEST_YEAR: Final = 2015
MOST_AHEAD_US: Final = 24 * 3600 * 1_000_000
"""How far in the future `completed_at` may lie, in microseconds: clocks differ, time zones slip."""
LEAST_THROUGHPUT: Final = 1e-9
"""Samples per second below which a throughput is no measurement (one sample in thirty years)."""
LEAST_UTILIZATION: Final = 1e-6
"""A share below it is no measurement."""

# History.
MOST_FAMILIES: Final = 250_000
"""Families of the snapshot that travels in an artifact; the most recent stay."""

MOST_FAMILY_CELLS: Final = 500_000
"""Cells by family of the references that travel in an artifact; the most recent stay."""
MOST_CELLS_PER_FAMILY: Final = 16
MOST_CELLS_PER_MODEL_TYPE: Final = 256

# Features.
MOST_CATEGORIES: Final = 254
"""Named values of one category column. scikit-learn takes codes up to 254; one is the rest's."""
LEAST_CATEGORY_ROWS: Final = 10
"""Training rows a value needs for a code of its own."""
MOST_KEYS: Final = 256
"""Columns from one open object (config, allocation, architecture); the commonest stay."""
NEARLY_ALWAYS: Final = 0.99
"""Share of training rows from which on a job column counts as always there."""
MOST_MISSING: Final = 0.20
"""Share of those columns that a request may lack before it is `missing_feature`."""

# Ranking.
LEAST_COST_PER_HOUR: Final = 1e-6
"""US dollars of one host; less is a missing price, and would make work per dollar infinite."""
MIN_HARDWARE_ROWS: Final = 50
PREMIUM_MIN_EFFICIENCY: Final = 0.5
POINTER_CACHE_S: Final = 60.0
REFRESH_WAIT_S: Final = 0.15
"""What a ranking waits for a look at pointer and switches; what takes longer serves later ones."""
CLIENT_TIMEOUT_S: Final = 0.3

DAY_US: Final = 24 * 3600 * 1_000_000
"""Microseconds of a day. Times are int64 microseconds since 1970-01-01 UTC throughout."""
