"""An environment in which every AWS client talks to the local AWS, and to nothing else."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from cli.local_aws.server import ACCOUNT, HOST, REGION, LocalAws

_LEFT_OUT = ("AWS_", "CDK_", "LEAP_")


def variables_for(aws: LocalAws) -> dict[str, str]:
    """This process's environment with all that says which AWS, and as whom, replaced.

    A person's own profile must not be reachable from here: a demo never touches an account.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_LEFT_OUT)}
    return kept | aws_variables(aws)


def aws_variables(aws: LocalAws) -> dict[str, str]:
    """The variables by which a client finds the local AWS, as its account's owner."""
    direct = ",".join(filter(None, (os.environ.get("NO_PROXY"), HOST, "localhost")))
    return {
        "AWS_ENDPOINT_URL": aws.endpoint,
        "AWS_ACCESS_KEY_ID": ACCOUNT,  # by which the server knows whose call it is
        "AWS_SECRET_ACCESS_KEY": aws.secret_key,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CA_BUNDLE": str(aws.certificate),
        "NODE_EXTRA_CA_CERTS": str(aws.certificate),
        "NO_PROXY": direct,
        "no_proxy": direct,
    }


@contextmanager
def talking_to(aws: LocalAws) -> Iterator[None]:
    """While the block runs, the clients of this process talk to the local AWS."""
    # For Python's own HTTPS. What builds bundles from the internet must not be given it.
    with _replaced(variables_for(aws) | {"SSL_CERT_FILE": str(aws.certificate)}):
        yield


@contextmanager
def acting_as(credentials: Mapping[str, str]) -> Iterator[None]:
    """While the block runs, clients that are made in it have these credentials."""
    with _replaced({**os.environ, **credentials}):
        yield


@contextmanager
def _replaced(variables: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update(variables)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
