"""What a local AWS fails with."""

from leap_model.errors import LeapError


class LocalAwsError(LeapError):
    """The local AWS, or something that runs against it, did not do what it was started for."""
