"""leap retrain for a stage that serves: the gate, what is set of the estimator, the target."""

import json
import random
from typing import Any

import pytest

import cli.training_options  # noqa: F401 - before presets are replaced: its choices stay
from bench.clusters import cluster
from functions.retrain.learning import presets
from functions.retrain.learning.single import Single
from leap_model.store import LocalStore
from tests.support import filled
from tests.unit.cli.commands import PROD, document, history, refused, succeeded

SINGLE = ("--estimator", "single")
RETRAIN = ("retrain", *PROD, "--as-of", "2026-01-14", "--window-days", "9", *SINGLE)
WORSE = ("--set", "trees=1", "--set", "leaves=2", "--set", "learning_rate=0.05")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command's own estimators take their time."""
    quick = Single(trees=40, leaves=6, learning_rate=0.5)
    monkeypatch.setattr(presets, "ESTIMATORS", {"single": quick})


def test_a_night_within_the_margin_is_pointed_at_and_one_below_it_is_not(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    text = succeeded(*RETRAIN, "--store", full, *WORSE)
    assert f"live {versions[2]} on the same attempts: within 20 % " in text
    last = text.splitlines()[-1]
    assert last.startswith("stage prod does not point at it: w20 of 2026-01-10 is ")
    assert last.endswith("worse by more than 3.0 %; --force points anyway")
    metrics = document(*RETRAIN, "--store", full, *WORSE)
    own, theirs = metrics["evaluation"]["w20"], metrics["live"]["evaluation"]["w20"]
    assert f"is {own * 100:.1f} %, and {theirs * 100:.1f} % with the live {versions[2]}: " in last
    assert (metrics["published"], metrics["pointed"]) == (True, False)
    assert metrics["live"]["version"] == versions[2]
    assert document(*RETRAIN, "--store", full, *WORSE, "--gate-margin", 1)["pointed"]


def test_force_points_against_the_gate(full: LocalStore) -> None:
    text = succeeded(*RETRAIN, "--store", full, *WORSE, "--gate-margin", 0, "--force")
    assert text.splitlines()[-1] == "stage prod points at it"


def test_a_live_model_that_was_not_scored_is_told_of(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    (full.root / f"models/throughput/{versions[2]}/manifest.json").unlink()
    text = succeeded(*RETRAIN, "--store", full)
    assert f"live {versions[2]} on the same attempts: not scored, it does not load: " in text


@pytest.mark.parametrize("margin", ["-0.01", "1.01", "x", "", "inf"])
def test_what_is_no_margin_is_refused(full: LocalStore, margin: str) -> None:
    assert "--gate-margin" in refused(*RETRAIN, "--store", full, "--gate-margin", margin)


@pytest.mark.parametrize("margin", ["nan", "NaN", "-nan"])
def test_a_margin_that_is_no_number_is_refused(
    full: LocalStore, versions: tuple[str, ...], margin: str
) -> None:
    line = refused(*RETRAIN, "--store", full, *WORSE, "--gate-margin", margin)
    assert line == f"Error: Invalid value for '--gate-margin': {margin} is no number"
    assert history(full)["serving"] == versions[2]


def test_a_version_rolled_back_from_is_not_pointed_at_when_its_night_runs_again(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    first = document(*RETRAIN, "--store", full)
    succeeded("pointer", "rollback", "--store", full, *PROD)
    text = succeeded(*RETRAIN, "--store", full)
    assert text.startswith(f"version {first['version']}\n")
    assert text.splitlines()[-1] == (
        "stage prod does not point at it: the stage was rolled back from this night's model; "
        "--force points anyway"
    )
    assert history(full)["serving"] == versions[2]
    assert document(*RETRAIN, "--store", full, "--force")["pointed"]


def test_a_constant_of_the_estimator_is_set(full: LocalStore) -> None:
    options = ("--set", "trees=3", "--set", " scaled = false", "--set", "learning_rate=2e-1")
    metrics = document(*RETRAIN, "--store", full, *options, "--test-run")
    kept = full.read(f"models/throughput/{metrics['version']}/training.json")
    estimator = json.loads(kept or b"")["estimator"]
    assert estimator == Single(trees=3, leaves=6, learning_rate=0.2, scaled=False).settings()


@pytest.mark.parametrize(
    ("assigned", "said"),
    [
        ("nonsense=1", 'constant is "nonsense"; it must be one of single\'s: scaled, trees'),
        ("name=mine", 'constant is "name"; it must be one of'),
        ("=1", 'constant is ""; it must be one of'),
        ("trees", "trees is no NAME=VALUE"),
        ("", "is no NAME=VALUE"),
        ("trees=", 'trees is ""; it must be a value'),
        ("trees=  ", 'trees is "  "; it must be a value'),
        ("scaled=", 'scaled is ""; it must be a value'),
        ("learning_rate=", 'learning_rate is ""; it must be a value'),
        ("trees=0", "trees is 0; it must be an integer from 1"),
        ("trees=2.5", "trees is 2.5; it must be an integer"),
        ("trees=many", 'trees is "many"; it must be an integer'),
        ("trees=1000001", "it must be an integer from 1 to 1,000,000"),
        ("leaves=1", "leaves is 1; it must be an integer from 2"),
        ("learning_rate=0", "learning_rate is 0; it must be a finite number above 0"),
        ("learning_rate=nan", "learning_rate is NaN; it must be a finite number"),
        ("scaled=yes", 'scaled is "yes"; it must be true or false'),
    ],
)
def test_a_constant_that_is_none_or_breaks_its_rule_is_refused(
    full: LocalStore, assigned: str, said: str
) -> None:
    line = refused(*RETRAIN, "--store", full, "--set", assigned)
    assert line.startswith("Error: Invalid value for '--set': ")
    assert said in line


def test_the_number_of_processes_changes_no_model(full: LocalStore) -> None:
    nights = [
        document(*RETRAIN, "--store", full, "--test-run", *options)
        for options in ((), ("--processes", 1), ("--processes", 2))
    ]
    assert len({metrics["manifest_sha256"] for metrics in nights}) == 1


@pytest.mark.parametrize("processes", ["0", "-1", "1.5", "x", "1025"])
def test_what_is_no_number_of_processes_is_refused(full: LocalStore, processes: str) -> None:
    assert "--processes" in refused(*RETRAIN, "--store", full, "--processes", processes)


def test_a_dask_cluster_changes_no_model(full: LocalStore) -> None:
    plain = (*RETRAIN, "--store", full, "--test-run")
    with cluster(1) as address:
        there = document(*plain, "--engine", "dask", "--scheduler", address)
    assert there["manifest_sha256"] == document(*plain)["manifest_sha256"]
    assert there["peak_memory_mb"] > 10


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--engine", "dask"), "--engine dask and --scheduler ADDRESS go together"),
        (("--scheduler", "tcp://h:1"), "--engine dask and --scheduler ADDRESS go together"),
        (
            ("--engine", "dask", "--scheduler", "tcp://h:1", "--processes", "2"),
            "--processes are this machine's; a Dask cluster has its workers",
        ),
        (
            ("--engine", "dask", "--scheduler", "h:1"),
            'scheduler is "h:1"; it must be tcp://HOST:PORT or tls://HOST:PORT',
        ),
        (("--engine", "spark"), "'spark' is not one of 'local', 'dask'"),
    ],
)
def test_options_of_an_engine_that_do_not_go_together_are_refused(
    full: LocalStore, options: tuple[str, ...], said: str
) -> None:
    assert said in refused(*RETRAIN, "--store", full, *options)


UTILIZATION = ("--target", "utilization")


def test_utilization_is_trained_where_attempts_report_it(
    store: LocalStore, attempts: list[dict[str, Any]]
) -> None:
    draw, shares = random.Random(1), {"fast-8": 0.25, "mid-8": 0.5, "slow-4": 0.75}
    used = [shares[a["hardware_type"]] * draw.uniform(0.95, 1.05) for a in attempts]
    pairs = zip(attempts, used, strict=True)
    filled(store.root, [{**a, "utilization": share} for a, share in pairs])
    metrics = document(*RETRAIN, "--store", store, *UTILIZATION)
    assert (metrics["target"], metrics["pointed"]) == ("utilization", True)
    assert metrics["evaluation"]["w20"] > 0.9
    shown = document("pointer", "show", "--store", store, *PROD, *UTILIZATION)
    assert shown["uri"] == f"models/utilization/{metrics['version']}"
    assert history(store, *UTILIZATION)["serving"] == metrics["version"]
    assert "points at no model" in refused("pointer", "show", "--store", store, *PROD)


def test_utilization_that_no_attempt_reports_is_refused(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    line = refused(*RETRAIN, "--store", full, *UTILIZATION)
    assert line.startswith("Error: 0 attempts with a usable utilization on 0 days")
    assert full.keys("models/utilization") == []
    assert history(full)["serving"] == versions[2]
