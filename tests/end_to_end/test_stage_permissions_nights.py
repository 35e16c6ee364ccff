"""The nightly run of a deployed stage without one of its rights: it says so and moves nothing.

The rows are in the order in which a run uses the rights, so that each night gets past the point
where the one before was refused: what was taken away is back.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError

from cli.local_aws.errors import LocalAwsError
from leap_model.artifact import load
from leap_model.intake import Counts, Record, take_in
from leap_model.limits import DAY_US
from leap_model.moves import read_moves
from leap_model.parameters import Parameters, deployed_pointer, pointer_parameter
from leap_model.pointer import Pointer, pointer_key, read_pointer
from leap_model.s3 import SUPERSEDED
from leap_model.times import start_of
from tests.end_to_end.conftest import STAGE, Stage
from tests.end_to_end.lone_nights import LoneNights, Night
from tests.end_to_end.permissions import TABLE, Grant, Rights
from tests.support import attempt

ROLE = "RetrainTaskRole"
TARGET = "throughput"
FIRST = date(2026, 1, 13)
"""The day after the last one of the fleet."""
MEASURED = "the nightly run"

POINTER, MOVES = "STORE/pointers/STAGE/throughput.json", "STORE/pointers/STAGE/throughput.moves/*"
PARAMETER = "/leap/STAGE/throughput/pointer"


@dataclass(frozen=True)
class Refused:
    """A right, on which night a run first needs it, and what it says without.

    `served` is how many versions served before. Where `moved`, the pointer in the store had moved
    to a complete version before the run was refused; where `followed`, the parameter too. The next
    run does the rest.
    """

    action: str
    resource: str
    served: int
    error: str
    moved: bool = False
    followed: bool = False

    @property
    def grant(self) -> Grant:
        """Its row of the table."""
        return Grant(ROLE, self.action, self.resource)


REFUSED = [
    Refused("s3:GetObject", POINTER, 0, "pointers/STAGE/throughput.json cannot be read"),
    Refused("s3:ListBucket", "STORE", 0, "attempts cannot be listed"),
    Refused("s3:GetObject", "STORE/catalogue/hardware.json", 0, "catalogue/hardware.json cannot"),
    Refused("s3:GetObject", "STORE/attempts/*", 0, "attempts/dt=DAY/DIGEST.parquet cannot be read"),
    Refused("s3:PutObject", "STORE/models/*", 0, "models/throughput/VERSION/model.json cannot be"),
    Refused("s3:GetObject", "STORE/models/*", 0, "models/throughput/VERSION/model.json cannot be"),
    Refused("s3:PutObject", MOVES, 0, "pointers/STAGE/throughput.moves/00000001.json cannot be"),
    Refused(
        "s3:GetObjectTagging", "STORE/models/*", 0, "models/throughput/VERSION/manifest.json cannot"
    ),
    Refused("s3:PutObject", POINTER, 0, "pointers/STAGE/throughput.json cannot be written"),
    Refused("ssm:PutParameter", PARAMETER, 0, f"{PARAMETER} cannot be written", moved=True),
    Refused("ssm:GetParameter", PARAMETER, 1, f"{PARAMETER} cannot be read"),
    Refused("s3:GetObject", MOVES, 1, "pointers/STAGE/throughput.moves/00000001.json cannot be r"),
    Refused("s3:GetObject", "STORE/reports/*", 1, "reports/throughput/VERSION/metrics", True, True),
    Refused("s3:PutObject", "STORE/reports/*", 2, "reports/throughput/VERSION/metrics", True, True),
]
TAGGING = Grant(ROLE, "s3:PutObjectTagging", "STORE/models/*")
MERGING = [
    Grant(ROLE, "s3:PutObject", "STORE/attempts/*/merged-*"),
    Grant(ROLE, "s3:PutObjectTagging", "STORE/attempts/*"),
]
KEEPING = [
    Grant(ROLE, "s3:PutObject", "STORE/scratch/STAGE/*"),
    Grant(ROLE, "s3:GetObject", "STORE/scratch/STAGE/*"),
]
CODE = Grant(ROLE, "s3:GetObject", "the task's code")
GRANTS = [*(row.grant for row in REFUSED), TAGGING, *MERGING, *KEEPING, CODE]


class Calendar:
    """Nights one after the other, on a stage whose own pointer was set aside."""

    def __init__(self, stage: Stage, nights: LoneNights) -> None:
        self.store = stage.store
        self.today = FIRST
        self._nights = nights

    def night(self) -> Night:
        """The night of today, which may have been run before."""
        return self._nights.run(self.today)

    def until(self, served: int) -> None:
        """Good nights until so many versions have served."""
        while len(read_moves(self.store, STAGE, TARGET)) < served:
            done = self.night()
            assert (done.code, done.errors) == (0, [])
            self.tomorrow()

    def tomorrow(self) -> None:
        """The next day."""
        self.today += timedelta(days=1)

    def pointers(self) -> tuple[Pointer | None, Pointer | None]:
        """What the store says, and what readers of the stage see."""
        stored, _ = read_pointer(self.store, STAGE, TARGET)
        return stored, deployed_pointer(Parameters(), STAGE, TARGET)


@pytest.fixture(scope="module")
def rights(filled: Stage) -> Rights:
    """What the stage's identities may do."""
    return Rights(f"leap-{STAGE}", STAGE)


@pytest.fixture(scope="module")
def calendar(
    filled: Stage, rights: Rights, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Calendar]:
    """A stage that points at nothing; afterwards it points where it did."""
    store, bucket = filled.store, filled.outputs["BucketName"]
    s3, ssm, name = boto3.client("s3"), boto3.client("ssm"), pointer_parameter(STAGE, TARGET)

    def cleared() -> dict[str, bytes]:
        keys = store.keys(f"pointers/{STAGE}/{TARGET}.moves")
        keys += [pointer_key(STAGE, TARGET)] if store.size(pointer_key(STAGE, TARGET)) else []
        contents = {key: store.read(key) or b"" for key in keys}
        for key in keys:
            s3.delete_object(Bucket=bucket, Key=key)
        return contents

    aside, text = cleared(), Parameters().read(name)
    if text is not None:
        ssm.delete_parameter(Name=name)
    credentials = rights.credentials(ROLE)
    folder = tmp_path_factory.mktemp("nights")
    nights = LoneNights(filled.aws, f"leap-{STAGE}-retrain", credentials, folder)
    yield Calendar(filled, nights)
    cleared()
    for key, content in aside.items():
        store.create(key, content)
    if text is not None:
        Parameters().write(name, text)
    elif Parameters().read(name) is not None:
        ssm.delete_parameter(Name=name)


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row.action} {row.resource}")
def test_a_night_without_a_right_says_which_and_readers_keep_their_model(
    calendar: Calendar, rights: Rights, row: Refused, tmp_path: Path
) -> None:
    calendar.until(row.served)
    before = calendar.pointers()
    with rights.without(row.grant):
        refused = calendar.night()
    assert refused.code == 1
    (error,) = refused.errors
    assert refused.said[-1] == {"service": "retrain", "error": error}
    said = rights.short(error)
    assert said.startswith(row.error)
    assert said.endswith((": AccessDenied", ": AccessDeniedException", ": 403"))
    stored, seen = calendar.pointers()
    assert seen == (stored if row.followed else before[1])
    words = f"exit code 1: `{said}`; the pointer stays"
    if row.moved:
        assert stored is not None
        assert stored != before[0]
        load(calendar.store.folder(stored.uri), stored.manifest_sha256)  # raises unless complete
        again = calendar.night()
        assert (again.code, again.errors) == (0, [])
        assert calendar.pointers() == (stored, stored)
        calendar.tomorrow()
        then = "readers go by the object, the next run makes the parameter follow"
        if row.followed:
            then = "after the pointer moved, and readers with it"
        words = f"exit code 1: `{said}`; {then}"
    else:
        assert stored == before[0]
    TABLE.add(row.grant, MEASURED, words)


def test_without_the_right_to_tag_a_night_is_done_and_nothing_expires(
    calendar: Calendar, rights: Rights
) -> None:
    calendar.until(2)
    before = _superseded(calendar)
    with rights.without(TAGGING):
        refused = calendar.night()
    (error,) = refused.errors
    said = rights.short(error)
    assert refused.code == 1
    assert said == "models/throughput/VERSION/catalogue.json cannot be tagged: AccessDenied"
    stored, seen = calendar.pointers()
    assert stored is not None
    assert stored == seen
    assert stored.as_of == calendar.today.isoformat()
    assert _superseded(calendar) == before
    calendar.tomorrow()
    done = calendar.night()
    assert (done.code, done.errors) == (0, [])
    assert _superseded(calendar) > before
    calendar.tomorrow()
    words = f"exit code 1 after the pointer moved: `{said}`; the next night tags what is superseded"
    TABLE.add(TAGGING, MEASURED, words)


@pytest.mark.parametrize("grant", MERGING, ids=str)
def test_without_a_right_to_merge_a_night_is_done_and_small_files_stay(
    calendar: Calendar, rights: Rights, grant: Grant
) -> None:
    day = FIRST - timedelta(days=1)
    small = [
        attempt(attempt_id=f"{grant.action}-{at}", completed_at=f"{day}T08:00:00Z")
        for at in range(16)
    ]
    for entry in small:
        record = Record.of_json(json.dumps(entry).encode())
        take_in(calendar.store, [record], Counts(), start_of(day) + DAY_US, look_up=False)
    with rights.without(grant):
        refused = calendar.night()
    (warning,) = [line["warning"] for line in refused.said if "warning" in line]
    assert (refused.code, refused.errors) == (0, [])
    said = rights.short(warning)
    assert said.startswith("small files are left as they are: attempts/dt=DAY/")
    assert said.endswith(": AccessDenied")
    stored, seen = calendar.pointers()
    assert stored == seen
    calendar.tomorrow()
    done = calendar.night()
    assert (done.code, done.errors) == (0, [])
    assert not [line for line in done.said if "warning" in line]
    calendar.tomorrow()
    TABLE.add(grant, MEASURED, f"the night is done: `{said}`; the next one merges")


@pytest.mark.parametrize("grant", KEEPING, ids=str)
def test_without_a_right_to_keep_fits_a_night_makes_them_all_the_same(
    calendar: Calendar, rights: Rights, grant: Grant
) -> None:
    for key in calendar.store.keys(f"scratch/{STAGE}"):  # of earlier nights, on the same data
        boto3.client("s3").delete_object(Bucket=calendar.store.bucket, Key=key)
    with rights.without(grant):
        done = calendar.night()
    assert (done.code, done.errors) == (0, [])
    (warning,) = [line["warning"] for line in done.said if "warning" in line]
    writing = grant.action == "s3:PutObject"
    assert ("are not kept" if writing else "is made again") in warning
    assert (calendar.store.keys(f"scratch/{STAGE}") == []) == writing
    stored, seen = calendar.pointers()
    assert stored == seen
    assert stored is not None
    assert stored.as_of == calendar.today.isoformat()
    calendar.tomorrow()
    words = "the night is done; had it been killed, the next try would make its fits anew"
    TABLE.add(grant, MEASURED, words)


def test_a_task_that_may_not_fetch_its_code_says_so_and_ends(
    filled: Stage, rights: Rights, calendar: Calendar
) -> None:
    before = calendar.pointers()
    with rights.without(CODE), pytest.raises(LocalAwsError, match="exit code 1") as ended:
        filled.night()
    lines = [line for line in str(ended.value).splitlines() if "no code, attempt" in line]
    said = json.loads(lines[-1])["error"]
    assert said.startswith("no code, attempt 4: HTTP Error 403: Forbidden")
    assert "AccessDenied" in said
    assert calendar.pointers() == before
    code = rights.raw(CODE).removeprefix("arn:aws:s3:::").split("/", 1)
    fetching = filled.client("s3", rights.credentials(ROLE))
    assert fetching.head_object(Bucket=code[0], Key=code[1])["ContentLength"] > 0
    with rights.without(CODE), pytest.raises(ClientError, match="403"):
        fetching.head_object(Bucket=code[0], Key=code[1])
    words = "exit code 1 after four tries: `no code, attempt 4: HTTP Error 403: Forbidden …`"
    TABLE.add(CODE, MEASURED, words)


def _superseded(calendar: Calendar) -> set[str]:
    """Versions that the bucket's lifecycle may expire."""
    s3, store = boto3.client("s3"), calendar.store
    served = {move.pointer.version for move in read_moves(store, STAGE, TARGET)}
    return {
        version
        for version in served
        if {"Key": SUPERSEDED, "Value": "true"}
        in s3.get_object_tagging(
            Bucket=store.bucket, Key=f"models/{TARGET}/{version}/manifest.json"
        )["TagSet"]
    }
