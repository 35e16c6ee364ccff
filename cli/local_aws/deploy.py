"""Deploys this checkout's CDK app to a local AWS, with the CDK's own command line."""

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from cli.local_aws.environment import variables_for
from cli.local_aws.errors import LocalAwsError
from cli.local_aws.paths import CDK, CHECKOUT
from cli.local_aws.process import Process
from cli.local_aws.server import ACCOUNT, REGION, LocalAws

_LONGEST_S: Final = 600.0
_QUIET: Final = {
    "CI": "true",  # progress as lines, on standard output
    "NO_COLOR": "1",
    "FORCE_COLOR": "0",
    "CDK_DISABLE_CLI_TELEMETRY": "true",
}

Watch = Callable[[str], None]


class Deployment:
    """One stage on a local AWS.

    Parameters
    ----------
    aws : LocalAws
        Where.
    stage : str
        Which.
    folder : Path
        For what CDK puts together, and its log.
    """

    def __init__(self, aws: LocalAws, stage: str, folder: Path) -> None:
        self._variables = {**variables_for(aws), **_QUIET}
        self._stage = stage
        self._assembly = folder / "cdk.out"
        self._outputs = folder / "outputs.json"
        self._log = folder / "cdk.log"
        if not CDK.exists() or not (CHECKOUT / "cdk.json").exists():
            raise LocalAwsError(f"{CDK} is not there: in a checkout, make demo sets it up")

    def bootstrap(self, watch: Watch) -> None:
        """What CDK needs in an account before anything else: its bucket and its roles."""
        # Without an app of its own it would synthesise the checkout's.
        self._cdk(["bootstrap", f"aws://{ACCOUNT}/{REGION}", "--app", str(self._assembly)], watch)

    def synthesise(self, watch: Watch) -> None:
        """The template, and the functions' bundles for this machine."""
        app = ("--app", f"{shlex.quote(sys.executable)} -m infra.app")
        context = ("--context", "local=true", "--context", f"stage={self._stage}")
        self._cdk(["synth", "--quiet", *app, "--output", str(self._assembly), *context], watch)

    def deploy(self, watch: Watch) -> Mapping[str, str]:
        """The stack's outputs, once all of it stands."""
        approved = ("--require-approval", "never", "--outputs-file", str(self._outputs))
        self._cdk(["deploy", *self._synthesised(), *approved, "--progress", "events"], watch)
        (outputs,) = json.loads(self._outputs.read_text()).values()
        return dict(outputs)

    def destroy(self, watch: Watch) -> None:
        """Take all of it down again."""
        self._cdk(["destroy", *self._synthesised(), "--force"], watch)

    def _synthesised(self) -> list[str]:
        return ["--all", "--app", str(self._assembly)]

    def _cdk(self, arguments: list[str], watch: Watch) -> None:
        command = [str(CDK), *arguments, "--no-notices", "--no-version-reporting"]
        with Process(command, self._variables, self._log, CHECKOUT) as process:
            if process.follow(watch, _LONGEST_S):
                raise LocalAwsError(f"cdk {arguments[0]} failed:\n{process.said()}")
