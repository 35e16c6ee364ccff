"""The nightly job: window → train → evaluate → publish → point."""

import os

# Threads that spin while they wait stall a tree for seconds where another process wants the core
# (a 14-second run took over four minutes beside one busy process). Read when OpenMP is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
