"""An AWS on this machine, for a demo and for tests: what `make demo` deploys to."""
