"""python -m infra.app: what `cdk` runs. Context: stage (default dev), local, alarm_email,
estimators, task, scheduler."""

import sys
from collections.abc import Mapping
from typing import Any, Final

from aws_cdk import App

from infra.nag import check
from infra.settings import Settings
from infra.stack import LeapStack

_FLAGS: Final = {
    # Access logs are let in by a bucket policy; lists of grants are of another age.
    "@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy": True,
    # What CloudFormation's own schemas refuse fails here and not in a deployment.
    "@aws-cdk/core:validateAgainstDefaultRules": True,
}
"""Of CDK's feature flags, those that something depends on. Here, so that tests have them too."""


def make_app(context: Mapping[str, Any] | None = None, outdir: str | None = None) -> App:
    """An app to put stacks in.

    Parameters
    ----------
    context : mapping, optional
        What `cdk -c NAME=VALUE` says otherwise.
    outdir : str, optional
        Where the cloud assembly goes; by default where `cdk` wants it.
    """
    return App(context={**_FLAGS, **(context or {})}, outdir=outdir)


def make_stack(app: App) -> LeapStack:
    """The stack that the app's context describes.

    Raises
    ------
    ValueError
        The context breaks a rule.
    """
    return LeapStack(app, Settings.of_context(app.node.try_get_context))


def main() -> None:
    """Write the cloud assembly of one stage."""
    app = make_app()
    try:
        check(app, make_stack(app))
    except ValueError as fault:
        sys.exit(str(fault))
    app.synth()


if __name__ == "__main__":
    main()
