"""Bundles as CDK assets, built on this machine and never in Docker."""

from pathlib import Path
from typing import Any

import jsii
from aws_cdk import AssetHashType, BundlingOptions, DockerImage, ILocalBundling
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3_assets as assets
from constructs import Construct

from infra.bundle import Bundle, build
from infra.machine import Machine

__all__ = ["Bundle", "asset_of", "code_of"]


def code_of(bundle: Bundle, machine: Machine) -> lambda_.Code:
    """A function's code for a machine."""
    return lambda_.Code.from_asset(
        str(bundle.source),
        asset_hash_type=AssetHashType.OUTPUT,
        bundling=_bundling(bundle, machine),
    )


def asset_of(scope: Construct, bundle: Bundle, machine: Machine) -> assets.Asset:
    """The same for what is no Lambda function: a zip in the bucket of CDK's assets."""
    return assets.Asset(
        scope,
        "Code",
        path=str(bundle.source),
        asset_hash_type=AssetHashType.OUTPUT,
        bundling=_bundling(bundle, machine),
    )


@jsii.implements(ILocalBundling)
class _Local:
    def __init__(self, bundle: Bundle, machine: Machine) -> None:
        self._bundle = bundle
        self._machine = machine

    def try_bundle(self, output_dir: str, *_: Any, **__: Any) -> bool:
        build(self._bundle, self._machine, Path(output_dir))
        return True


def _bundling(bundle: Bundle, machine: Machine) -> BundlingOptions:
    return BundlingOptions(
        # Never pulled: `local` builds or fails. What a bundle is of stands in the command, since
        # CDK takes two bundles of the same folder and command for one.
        image=DockerImage.from_registry("none"),
        command=[bundle.value, machine.python, machine.processor],
        local=_Local(bundle, machine),
    )
