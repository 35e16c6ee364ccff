"""Other predictors of the same trees, for `python -m bench engine`."""
