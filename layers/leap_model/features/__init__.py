"""Features: one row a (job, hardware type) pair, the same code for training and serving."""

from leap_model.features.raw import raw_columns
from leap_model.features.schema import Schema

__all__ = ["Schema", "raw_columns"]
