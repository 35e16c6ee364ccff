"""Settings of this folder's tests."""

from hypothesis import settings

# The first example of a test may pay for imports and tables: no wall-clock limits.
settings.register_profile("leap", deadline=None)
settings.load_profile("leap")
