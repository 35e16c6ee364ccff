"""leap switches: what is printed and refused, and that rankers obey."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from leap_model import Ranker
from leap_model.store import LocalStore
from tests.support import checked, request
from tests.unit.cli.commands import document, process, refused, strict, succeeded

PROD = ("--stage", "prod")
KEY = "pointers/prod/switches.json"


@pytest.fixture
def copy(trained: LocalStore, tmp_path: Path) -> LocalStore:
    """A store of one's own with the trained model, and its pointer in the stage prod."""
    shutil.copytree(trained.root / "models", tmp_path / "copy/models")
    shutil.copytree(trained.root / "pointers/local", tmp_path / "copy/pointers/prod")
    return LocalStore(tmp_path / "copy")


@pytest.fixture
def empty(store: LocalStore) -> LocalStore:
    """A store that holds nothing yet."""
    store.root.mkdir()
    return store


def _set(store: LocalStore, *options: object) -> Any:
    return document("switches", "set", "--store", store, *PROD, *options)


def _shown(store: LocalStore) -> Any:
    return document("switches", "show", "--store", store, *PROD)


def _broken(store: LocalStore, content: bytes = b'{"default": {"percent": 101}}') -> None:
    path = store.root / KEY
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_a_stage_without_switches_says_that_it_ranks_nobody(empty: LocalStore) -> None:
    assert _shown(empty) == {"default": {"percent": 0}, "model_types": {}, "set": False}
    text = succeeded("switches", "show", "--store", empty, *PROD)
    assert text == "the stage prod has no switches: it ranks nobody where it is deployed\n"
    assert empty.read(KEY) is None


def test_what_is_set_is_stored_printed_and_shown(empty: LocalStore) -> None:
    told = _set(empty, "--default", 5, "--model-type", "resnet=25", "--model-type", "bert = 0.01")
    assert told == {
        "default": {"percent": 5},
        "model_types": {"bert": {"percent": 0.01}, "resnet": {"percent": 25}},
        "set": True,
    }
    assert _shown(empty) == told
    assert json.loads(empty.read(KEY) or b"") | {"set": True} == told


def test_a_person_sees_a_line_a_model_type_and_one_for_the_rest(empty: LocalStore) -> None:
    options = ("--default", "12.5", "--model-type", "resnet=25", "--model-type", "a=b=0.01")
    text = succeeded("switches", "set", "--store", empty, *PROD, *options)
    assert text == succeeded("switches", "show", "--store", empty, *PROD)
    assert text.startswith("Switches of prod")
    rows = [line.split() for line in text.splitlines() if "%" in line]
    assert rows == [["a=b", "0.01", "%"], ["resnet", "25", "%"], ["every", "other", "12.5", "%"]]


@pytest.mark.parametrize("name", ["[/x]", "[bold]x[/bold]", "ünïcode 🚀", ":rocket:"])
def test_any_model_type_is_printed_as_it_is(empty: LocalStore, name: str) -> None:
    options = ("--model-type", f"{name}=5")
    assert name in succeeded("switches", "set", "--store", empty, *PROD, *options)


def test_what_is_not_named_stays(empty: LocalStore) -> None:
    _set(empty, "--default", 5, "--model-type", "resnet=25", "--model-type", "bert=1")
    assert _set(empty, "--model-type", "bert=2")["model_types"] == {
        "bert": {"percent": 2},
        "resnet": {"percent": 25},
    }
    told = _set(empty, "--default", 6, "--unset", "resnet")
    assert told == {
        "default": {"percent": 6},
        "model_types": {"bert": {"percent": 2}},
        "set": True,
    }
    assert _set(empty, "--unset", " bert ", "--model-type", " ctr =7")["model_types"] == {
        "ctr": {"percent": 7}
    }
    told = _set(empty, "--replace")
    assert told == {"default": {"percent": 0}, "model_types": {}, "set": True}


def test_stages_have_switches_of_their_own(empty: LocalStore) -> None:
    _set(empty, "--default", 5)
    document("switches", "set", "--store", empty, "--default", 100)
    assert _shown(empty)["default"] == {"percent": 5}
    assert document("switches", "show", "--store", empty)["default"] == {"percent": 100}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "name what to set: --default, --model-type, --unset or --replace"),
        (("--default", "101"), "101.0 is not in the range 0<=x<=100"),
        (("--default", "-0.1"), "-0.1 is not in the range 0<=x<=100"),
        (("--default", "nan"), "Invalid value for '--default': nan is no number"),
        (("--default", "inf"), "inf is not in the range"),
        (("--default", "half"), "'half' is not a valid float"),
        (("--default", ""), "is not a valid float"),
        (("--model-type", "bert"), "bert is no MODEL_TYPE=PERCENT"),
        (("--model-type", ""), "is no MODEL_TYPE=PERCENT"),
        (("--model-type", "=5"), "=5 is no MODEL_TYPE=PERCENT"),
        (("--model-type", "  =5"), "is no MODEL_TYPE=PERCENT"),
        (("--model-type", "bert="), "bert= is no MODEL_TYPE=PERCENT"),
        (("--model-type", "bert=  "), "is no MODEL_TYPE=PERCENT"),
        (("--model-type", "bert=5%"), "'5%' is not a valid float"),
        (("--model-type", "bert=101"), "101.0 is not in the range 0<=x<=100"),
        (("--model-type", "bert=-1"), "-1.0 is not in the range 0<=x<=100"),
        (("--model-type", "bert=nan"), "Invalid value for '--model-type': nan is no number"),
        (("--model-type", "bert=inf"), "inf is not in the range"),
        (("--model-type", "x" * 257 + "=5"), "it must be text of 1 to 256 characters"),
        (("--default", "5", "--stage", "a/b"), "a/b is no name of a stage"),
        (("--default", "5", "--stage", ".."), "no key of a store"),
        (("--default", "5", "--nonsense"), "No such option"),
    ],
)
def test_what_cannot_be_set_is_one_line_and_changes_nothing(
    empty: LocalStore, options: tuple[str, ...], said: str
) -> None:
    _set(empty, "--default", 5)
    before = empty.read(KEY)
    assert said in refused("switches", "set", "--store", empty, *PROD, *options)
    assert empty.read(KEY) == before


def test_a_broken_document_is_refused_until_it_is_replaced(empty: LocalStore) -> None:
    _broken(empty)
    for options in (("show",), ("set", "--default", 5), ("set", "--unset", "bert")):
        line = refused("switches", *options, "--store", empty, *PROD)
        assert line == (
            f"Error: {KEY} is broken, so the stage ranks nobody: default.percent is 101; "
            "it must be a finite number at least 0 and at most 100"
        )
    assert _set(empty, "--replace", "--default", 5)["default"] == {"percent": 5}
    assert _shown(empty)["set"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[]", "switches is []; it must be an object"),
        (b"{}[]", "Extra data"),
        (b'{"default": {}}', "default.percent is missing; it must be a finite number"),
        (b'{"default": 5}', "default is 5; it must be an object"),
        (b'{"model_types": {"bert": {}}}', "model_types.bert.percent is missing; it must be"),
        (b'{"model_types": {"bert": 5}}', "model_types.bert is 5; it must be an object"),
    ],
)
@pytest.mark.parametrize("name", ["show", "set"])
def test_any_broken_document_is_one_line(
    empty: LocalStore, content: bytes, said: str, name: str
) -> None:
    _broken(empty, content)
    options = ("--default", 5) if name == "set" else ()
    line = refused("switches", name, "--store", empty, *PROD, *options)
    assert line.startswith(f"Error: {KEY} is broken, so the stage ranks nobody: {said}")


@pytest.mark.parametrize("name", ["show", "set"])
def test_a_store_that_is_not_there_is_one_line(tmp_path: Path, name: str) -> None:
    assert "does not exist" in refused("switches", name, "--store", tmp_path / "missing")
    refused("switches", name)
    assert not (tmp_path / "missing").exists()


def test_a_ranker_obeys_once_its_cache_is_over(copy: LocalStore) -> None:
    prompt = Ranker.from_store(copy.root, "prod", cache_s=0)
    patient = Ranker.from_store(copy.root, "prod", cache_s=3600)

    def reason(ranker: Ranker = prompt) -> Any:
        return checked(ranker.rank(request()))["reason"]

    assert reason() == reason(patient) == "switched_off"
    for options, expected in (
        (("--default", 100), None),
        (("--model-type", "bert=0"), "switched_off"),
        (("--unset", "bert"), None),
        (("--replace", "--model-type", "bert=100"), None),
        (("--replace", "--model-type", "resnet=100"), "switched_off"),
        (("--model-type", "bert=100"), None),
    ):
        _set(copy, *options)
        assert reason() == expected
    _broken(copy)
    assert reason() == "switched_off"
    assert reason(patient) == "switched_off"


def test_rank_follows_what_was_set_and_says_so(copy: LocalStore, request_file: Path) -> None:
    rank = ("rank", request_file, "--store", copy, *PROD)
    assert "no preference (switched_off)" in succeeded(*rank)
    _set(copy, "--model-type", "bert=100")
    assert document(*rank)["preference"]
    _set(copy, "--model-type", "bert=0", "--default", 100)
    answer = checked(document(*rank))
    assert answer["reason"] == "switched_off"
    assert answer["models"] == {"throughput": answer["model_version"]}


DECIDE = """
import json, sys
from leap_model import Ranker

ranker, asked = Ranker.from_store(sys.argv[1], "prod"), json.load(sys.stdin)
reasons = []
for at in range(80):
    asked["job"]["job_family"] = f"team/job-{at}"
    reasons.append(ranker.rank(asked)["reason"])
print(json.dumps(reasons))
"""


def _decisions(store: LocalStore, seed: int) -> list[bool]:
    """Whether each of 80 families is in, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", DECIDE, str(store)],
        input=json.dumps(request(candidates=["fast-8"])),
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    reasons = json.loads(done.stdout)
    assert set(reasons) == {None, "switched_off"}
    return [reason is None for reason in reasons]


def test_processes_decide_alike_and_growing_shares_keep_those_that_are_in(
    copy: LocalStore,
) -> None:
    _set(copy, "--model-type", "bert=30")
    few = _decisions(copy, seed=0)
    assert _decisions(copy, seed=4711) == few
    _set(copy, "--model-type", "bert=60")
    more = _decisions(copy, seed=1)
    assert 10 < sum(few) < sum(more) < 70
    assert all(later for earlier, later in zip(few, more, strict=True) if earlier)


def test_the_command_works_in_a_process_of_its_own(empty: LocalStore) -> None:
    done = process("switches", "set", "--store", empty, *PROD, "--default", "7", "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert strict(done.stdout.decode())["default"] == {"percent": 7}
    done = process("switches", "set", "--store", empty, *PROD, "--model-type", "bert=many")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.splitlines()[-1].startswith(b"Error: ")
