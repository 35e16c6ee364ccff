"""What `make demo` sets up in a checkout, and where."""

from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).parents[2]
INTERPRETER: Final = CHECKOUT / ".venv-aws" / "bin" / "python"
"""Of the environment that holds the local AWS. The functions and tasks run on it, too."""
CDK: Final = CHECKOUT / "node_modules" / ".bin" / "cdk"
