"""One file a command. Heavy libraries are imported inside, so that `--help` answers at once."""
