"""A ranker in a launcher's process without one of its rights, each by itself."""

from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest

from cli.local_aws.environment import acting_as
from cli.local_aws.roles import LauncherRole
from leap_model import Ranker
from leap_model.errors import LeapError
from tests.end_to_end.conftest import STAGE, Stage
from tests.end_to_end.permissions import BY_PARAMETER, OBJECTS, TABLE, Grant, Rights
from tests.support import checked, request

Trained = tuple[Stage, list[str]]


@pytest.fixture(scope="module")
def rights(filled: Stage) -> Rights:
    """What the stage's identities may do."""
    return Rights(f"leap-{STAGE}", STAGE)


RANKER = {
    Grant("LaunchersRanking", "s3:GetObject", "STORE/models/*"): "model_unavailable",
    Grant("LaunchersRanking", "s3:GetObject", "STORE/pointers/STAGE/switches.json"): "switched_off",
    Grant(
        "LaunchersRanking", "ssm:GetParameter", "/leap/STAGE/throughput/pointer"
    ): "model_unavailable",
    Grant("LaunchersRanking", "ssm:GetParameter", "/leap/STAGE/utilization/pointer"): None,
}
OBJECTS_IN_PROCESS = [Grant("LaunchersRanking", "s3:GetObject", name) for name in OBJECTS]
WHERE = Grant("LaunchersRanking", "ssm:GetParameter", "/leap/STAGE/store")


@pytest.fixture(scope="module")
def in_process(trained: Trained) -> Iterator[LauncherRole]:
    """A launcher's role with the policy to rank in process."""
    role = LauncherRole("lone-ranker", trained[0].outputs["RankerPolicy"])
    yield role
    role.remove()


@pytest.fixture
def ranker(
    in_process: LauncherRole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], Ranker]]:
    """Makes rankers with that role, which look every time and have an empty disk."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with acting_as(in_process.credentials):
        boto3.setup_default_session()
        yield lambda: Ranker.from_aws(STAGE, cache_s=0.0)
    boto3.DEFAULT_SESSION = None


@pytest.mark.parametrize("grant", RANKER, ids=str)
def test_a_ranker_in_process_without_a_right_gives_an_empty_list_and_why(
    ranker: Callable[[], Ranker], rights: Rights, grant: Grant
) -> None:
    made = ranker()
    with rights.without(grant):
        answer = checked(made.rank(request()))
        failures = made.load_failures
    assert bool(answer["preference"]) == (RANKER[grant] is None)
    assert answer["reason"] == RANKER[grant]
    assert checked(made.rank(request()))["preference"]
    if answer["reason"] is None:
        assert failures == 1
        words = "it ranks, and every look is one of its `load_failures`"
    else:
        said = f": `{rights.short(answer['detail'])}`" if "detail" in answer else ""
        words = f"an empty list, `{answer['reason']}`{said}"
    TABLE.add(grant, "`Ranker.from_aws`", words)


@pytest.mark.usefixtures("both_targets")
@pytest.mark.parametrize("grant", OBJECTS_IN_PROCESS, ids=str)
def test_a_ranker_in_process_that_may_not_read_a_pointer_s_object_goes_by_the_parameter(
    ranker: Callable[[], Ranker], rights: Rights, grant: Grant
) -> None:
    made = ranker()
    with rights.without(grant):
        assert checked(made.rank(request()))["preference"]
        assert made.load_failures == 2
    assert checked(made.rank(request()))["preference"]
    assert made.load_failures == 3
    TABLE.add(grant, "`Ranker.from_aws`", f"{BY_PARAMETER} is one of its `load_failures`")


def test_a_ranker_that_may_not_know_where_the_store_is_says_so(
    ranker: Callable[[], Ranker], rights: Rights
) -> None:
    with rights.without(WHERE), pytest.raises(LeapError) as refused:
        ranker()
    said = rights.short(str(refused.value))
    assert said == "/leap/STAGE/store cannot be read: AccessDeniedException"
    assert ranker().rank(request())["preference"]
    TABLE.add(WHERE, "`Ranker.from_aws`", f"raises `{said}`, as documented, and `rank` never does")


GRANTS = [*RANKER, *OBJECTS_IN_PROCESS, WHERE]
