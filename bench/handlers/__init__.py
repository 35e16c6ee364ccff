"""Lambda handlers that `python -m bench cold_start` starts beside the rank function's own."""
