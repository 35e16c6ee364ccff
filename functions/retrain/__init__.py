"""The nightly job: window → train → evaluate → publish → point."""

import os

# Threads that spin for long while they wait stall each tree where another process wants the core;
# threads that never spin pay a system call for each of a tree's hundred small loops. Both are read
# when OpenMP is loaded, which scikit-learn does. docs/measurements.md has the times.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
