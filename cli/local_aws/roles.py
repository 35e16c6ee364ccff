"""Credentials of roles that services take in AWS, and people do not."""

import json
from collections.abc import Mapping
from typing import Any, Final

from cli.local_aws.server import ACCOUNT
from leap_model.aws import client

_SESSION: Final = "local"
_OWNER: Final = {
    "Effect": "Allow",
    "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"},
    "Action": "sts:AssumeRole",
}


def taken(role: str) -> dict[str, str]:
    """The variables of a role's temporary credentials, by its ARN.

    The role lets the account's owner in for that moment, and is then what it was.
    """
    iam = client("iam")
    name = role.rpartition("/")[2]
    trust = iam.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]
    opened = {**trust, "Statement": [*trust["Statement"], _OWNER]}
    iam.update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(opened))
    try:
        return _assumed(role)
    finally:
        iam.update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(trust))


class LauncherRole:
    """A role that one managed policy alone is for, as a launcher's would be.

    Parameters
    ----------
    name : str
        Of the role.
    policy : str
        Its ARN.

    Attributes
    ----------
    credentials : dict
        The variables of temporary credentials.
    """

    def __init__(self, name: str, policy: str) -> None:
        self._name = name
        self._policy = policy
        self._iam = client("iam")
        trust = json.dumps({"Version": "2012-10-17", "Statement": [_OWNER]})
        role = self._iam.create_role(RoleName=self._name, AssumeRolePolicyDocument=trust)
        self._iam.attach_role_policy(RoleName=self._name, PolicyArn=policy)
        self.credentials = _assumed(role["Role"]["Arn"])

    def remove(self) -> None:
        """A stack cannot be taken down while others use its policies."""
        self._iam.detach_role_policy(RoleName=self._name, PolicyArn=self._policy)
        self._iam.delete_role(RoleName=self._name)


def _assumed(role: str) -> dict[str, str]:
    found: Mapping[str, Any] = client("sts").assume_role(RoleArn=role, RoleSessionName=_SESSION)
    keys = found["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
        "AWS_SESSION_TOKEN": keys["SessionToken"],
    }
