"""A new version that cannot be loaded: the old one serves on, in time, until it is repaired.

Through the deployed function and through a ranker in this process, side by side.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

import boto3
import pytest

from cli.local_aws.environment import acting_as
from cli.local_aws.roles import LauncherRole
from leap_model import Ranker
from leap_model.artifact import Packed
from leap_model.limits import REFRESH_WAIT_S
from leap_model.parameters import Parameters, deployed_pointer, pointer_parameter
from leap_model.pointer import Pointer
from tests.end_to_end.conftest import STAGE, Stage
from tests.end_to_end.faults import Proxy, Stall
from tests.end_to_end.handling import Asking, Reply, counted, kept_clean, next_version, told, until
from tests.support import checked, request

FUNCTION = f"leap-{STAGE}-rank"
CACHE_S = 0.5
"""So that a fault is met some times in a few seconds."""
LOOKS_S = 4.0
"""How long rankings are asked for while a version is broken: a stalled look takes a second."""
TAKEN_UP_S = 20.0
NOISE_S = 0.35
"""What a busy machine adds to the middle one of some answers; a read that stalls takes 1 s."""
HICCUP_S = 3.0
"""What it adds to any of them; a version that arrives slowly takes minutes."""


class Rankers:
    """The deployed function, and a ranker in this process; both see S3 through the proxy."""

    def __init__(self, stage: Stage, role: LauncherRole) -> None:
        self.stage = stage
        self._ask = Asking(stage)
        boto3.setup_default_session()  # forgets the credentials of before
        with acting_as(role.credentials):
            self.ranker = Ranker.from_aws(STAGE, cache_s=CACHE_S)
            self.ranker.rank(request())
        boto3.DEFAULT_SESSION = None

    def over_http(self) -> Reply:
        """Ask the function."""
        return self._ask(request())

    def in_process(self) -> Reply:
        """Ask the ranker here."""
        started = time.monotonic()
        answer = self.ranker.rank(request())
        return Reply(checked(answer), time.monotonic() - started)

    def both(self) -> tuple[Reply, Reply]:
        """Ask both."""
        return self.over_http(), self.in_process()

    def serve(self, version: str) -> bool:
        """Whether both serve a version."""
        return all(reply.version == version for reply in self.both())


@pytest.fixture(scope="module")
def proxy(trained: tuple[Stage, list[str]]) -> Iterator[Proxy]:
    """What S3 is reached through."""
    with Proxy(trained[0].aws) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def role(trained: tuple[Stage, list[str]]) -> Iterator[LauncherRole]:
    """A launcher that ranks in its own process."""
    role = LauncherRole("ranker-of-faults", trained[0].outputs["RankerPolicy"])
    yield role
    role.remove()


@pytest.fixture(scope="module")
def rankers(
    trained: tuple[Stage, list[str]],
    proxy: Proxy,
    role: LauncherRole,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Rankers]:
    """Both, once they serve the first night's model."""
    variables = {"AWS_ENDPOINT_URL_S3": proxy.endpoint}
    with pytest.MonkeyPatch.context() as patch, ExitStack() as ending:
        patch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("ranker")))
        ending.enter_context(acting_as(variables))
        ending.enter_context(
            told(FUNCTION, **variables, LEAP_CACHE_S=str(CACHE_S), LEAP_SAMPLE="0")
        )
        rankers = Rankers(trained[0], role)
        first = deployed_pointer(Parameters(), STAGE, "throughput")
        assert first is not None
        assert until(lambda: rankers.serve(first.version), TAKEN_UP_S)
        yield rankers


@pytest.fixture
def _as_deployed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests' rankings wait for what they look for; here they must not."""
    monkeypatch.setattr("leap_model.limits.REFRESH_WAIT_S", REFRESH_WAIT_S)


def point(pointer: Pointer) -> None:
    """Tell the stage's readers what to serve."""
    Parameters().write(pointer_parameter(STAGE, "throughput"), json.dumps(pointer.to_json()))


@dataclass(frozen=True)
class Newer:
    """A complete version that nothing points at yet."""

    pointer: Pointer
    packed: Packed
    stage: Stage

    @property
    def name(self) -> str:
        """The largest of its files that are arrays."""
        arrays = [name for name in self.packed.files if name.endswith(".npy")]
        return max(arrays, key=lambda name: len(self.packed.files[name]))

    def key(self, name: str) -> str:
        """Where a file of it lies."""
        return f"{self.pointer.uri}/{name}"

    def content(self, name: str) -> bytes:
        """What a file of it must hold."""
        return self.packed.manifest if name == "manifest.json" else self.packed.files[name]

    def put(self, name: str, content: bytes | None) -> None:
        """Overwrite a file of it, or take it away."""
        place = {"Bucket": self.stage.outputs["BucketName"], "Key": self.key(name)}
        s3 = boto3.client("s3")
        if content is None:
            s3.delete_object(**place)
        else:
            s3.put_object(**place, Body=content)


@pytest.fixture
def newer(rankers: Rankers) -> Iterator[Newer]:
    """A version after the first night's, until the test is over: then that one serves again."""
    stage = rankers.stage
    old = deployed_pointer(Parameters(), STAGE, "throughput")
    assert old is not None
    with kept_clean(stage.outputs["BucketName"], "models/"):
        yield Newer(*next_version(stage.store, old), stage)
        point(old)
        assert until(lambda: rankers.serve(old.version), TAKEN_UP_S)


Breaking = Callable[[Newer, Proxy, LauncherRole], AbstractContextManager[None]]


def _file(change: Callable[[bytes], bytes | None], name: str | None = None) -> Breaking:
    @contextmanager
    def broken(newer: Newer, proxy: Proxy, role: LauncherRole) -> Iterator[None]:
        file = name or newer.name
        newer.put(file, change(newer.content(file)))
        yield
        newer.put(file, newer.content(file))

    return broken


@contextmanager
def _denied(newer: Newer, proxy: Proxy, role: LauncherRole) -> Iterator[None]:
    """Neither role may read the version."""
    iam = boto3.client("iam")
    configuration = boto3.client("lambda").get_function_configuration(FunctionName=FUNCTION)
    roles = [configuration["Role"].rpartition("/")[2], "ranker-of-faults"]
    bucket = newer.stage.outputs["BucketName"]
    statement = {
        "Effect": "Deny",
        "Action": "s3:GetObject",
        "Resource": f"arn:aws:s3:::{bucket}/{newer.pointer.uri}/*",
    }
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    for name in roles:
        iam.put_role_policy(RoleName=name, PolicyName="denied", PolicyDocument=document)
    try:
        yield
    finally:
        for name in roles:
            iam.delete_role_policy(RoleName=name, PolicyName="denied")


@contextmanager
def _stalled(newer: Newer, proxy: Proxy, role: LauncherRole) -> Iterator[None]:
    """The bodies of its files begin to arrive, and no more comes."""
    stall = proxy.rule = Stall(lambda call: newer.pointer.uri in call)
    try:
        yield
    finally:
        stall.over.set()
        proxy.rule = None


def _flipped(content: bytes) -> bytes:
    at = len(content) // 2
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


BROKEN: dict[str, Breaking] = {
    "a missing file": _file(lambda content: None),
    "a missing manifest": _file(lambda content: None, "manifest.json"),
    "a flipped byte": _file(_flipped),
    "a flipped byte of a document": _file(_flipped, "training.json"),
    "a truncated file": _file(lambda content: content[: len(content) // 2]),
    "an empty file": _file(lambda content: b""),
    "a manifest cut short": _file(lambda content: content[: len(content) // 2], "manifest.json"),
    "another manifest": _file(lambda content: content + b"\n", "manifest.json"),
    "permission denied": _denied,
    "a stalled download": _stalled,
}


@pytest.mark.usefixtures("_as_deployed")
@pytest.mark.parametrize("way", BROKEN)
def test_a_version_that_does_not_load_leaves_the_old_one_serving_until_it_is_repaired(
    way: str, rankers: Rankers, newer: Newer, proxy: Proxy, role: LauncherRole
) -> None:
    usual = [rankers.both() for _ in range(8)]
    failures, since = rankers.ranker.load_failures, time.time()
    with BROKEN[way](newer, proxy, role):
        point(newer.pointer)
        meanwhile = _asked(rankers)
        assert rankers.ranker.load_failures > failures
        assert until(lambda: counted(FUNCTION, "ModelLoadFailures", since) > 0, TAKEN_UP_S)
    _must_be_as_usual(meanwhile, usual)
    assert until(lambda: rankers.serve(newer.pointer.version), TAKEN_UP_S)


@pytest.mark.usefixtures("_as_deployed")
def test_a_version_that_arrives_slowly_holds_no_answer_up(
    rankers: Rankers, newer: Newer, proxy: Proxy
) -> None:
    usual = [rankers.both() for _ in range(8)]
    trickle = proxy.rule = Stall(lambda call: newer.pointer.uri in call, every_s=0.1)
    point(newer.pointer)
    meanwhile = _asked(rankers)
    assert trickle.begun.is_set()
    trickle.over.set()
    proxy.rule = None
    _must_be_as_usual(meanwhile, usual)
    assert until(lambda: rankers.serve(newer.pointer.version), TAKEN_UP_S)


Pair = tuple[Reply, Reply]


def _asked(rankers: Rankers) -> list[Pair]:
    """What both answer, asked one after the other for some seconds and at least ten times."""
    ends = time.monotonic() + LOOKS_S
    replies: list[Pair] = []
    while time.monotonic() < ends or len(replies) < 10:
        replies.append(rankers.both())
        time.sleep(CACHE_S / 2)
    return replies


def _must_be_as_usual(meanwhile: list[Pair], usual: list[Pair]) -> None:
    """The same version as before, and hardly later than before."""
    for reply in (reply for pair in (*usual, *meanwhile) for reply in pair):
        assert reply.version == usual[0][0].version
        assert reply.answer["reason"] is None
    for before, during in zip(_seconds(usual), _seconds(meanwhile), strict=True):
        assert during < before + REFRESH_WAIT_S + NOISE_S
    slowest = max(reply.seconds for pair in meanwhile for reply in pair)
    assert slowest < max(reply.seconds for pair in usual for reply in pair) + HICCUP_S


def _seconds(replies: list[Pair]) -> list[float]:
    """The middle time of each of the two."""
    each = zip(*replies, strict=True)
    return [statistics.median(reply.seconds for reply in asked) for asked in each]
