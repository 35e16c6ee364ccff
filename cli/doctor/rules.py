"""The rules that a sound stage keeps, in one place."""

from typing import Final

MOST_MODEL_AGE_H: Final = 36
"""Hours since `as_of`: a night's model serves until the next, a day and its run later."""
MOST_DAYS_WITHOUT: Final = 1
"""Days that the newest partition of attempts may lie back."""
MOST_REJECTED: Final = 0.05
"""Share of what arrived on the last day of arrivals that broke a rule."""
MOST_WAITING: Final = 10_000
"""Messages of the queue: ten full batches."""
MOST_WAIT_S: Final = 3_600
"""Age of the queue's oldest message."""
MOST_SKEW_S: Final = 300
"""Between this machine's clock and AWS's: signatures are good for so long."""
