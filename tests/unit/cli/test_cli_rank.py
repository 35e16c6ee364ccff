"""leap rank, and pointer show: what is printed, and how the commands end."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from leap_model.store import LocalStore
from tests.support import checked, preferred, request
from tests.unit.cli.commands import document, process, refused, run, strict, succeeded


def _file(tmp_path: Path, asked: Any) -> Path:
    path = tmp_path / "asked.json"
    path.write_text(json.dumps(asked))
    return path


def test_the_answer_is_printed_as_json(trained: LocalStore, request_file: Path) -> None:
    answer = checked(document("rank", request_file, "--store", trained))
    assert preferred(answer) == ["fast-8", "slow-4", "mid-8"]


def test_a_dash_reads_the_request_from_standard_input(trained: LocalStore) -> None:
    done = process("rank", "-", "--store", trained, "--json", text=json.dumps(request()))
    assert (done.returncode, done.stderr) == (0, b"")
    assert checked(strict(done.stdout.decode()))["reason"] is None
    done = process("rank", "-", "--store", trained, text=b"{")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"Error: <stdin> is not JSON")
    assert done.stderr.count(b"\n") == 1


def test_the_preference_is_a_table_with_what_was_left_out_below(
    trained: LocalStore, tmp_path: Path
) -> None:
    unpriced = {"hardware_type": "mid-8", "id": "gift", "cost_per_hour": 0}
    asked = request(candidates=["slow-4", "fast-8", "moon", unpriced, "fast-8"])
    text = succeeded("rank", _file(tmp_path, asked), "--store", trained)
    table, _, rest = text.partition("excluded")
    assert table.index("fast-8") < table.index("slow-4")
    assert "40.00" in table
    lines = f"excluded{rest}".splitlines()
    assert lines[0].startswith("excluded moon: unknown_hardware")
    assert lines[1].startswith("excluded gift: no_cost")
    assert lines[2].startswith("excluded fast-8: duplicate")


def test_an_extrapolated_type_is_marked(trained: LocalStore, tmp_path: Path) -> None:
    priced = {"hardware_type": "unpriced-8", "cost_per_hour": 5}
    asked = request(candidates=[priced], allow_untrained=True)
    assert "extrapolated" in succeeded("rank", _file(tmp_path, asked), "--store", trained)


def test_a_family_without_history_is_said_to_start_cold(
    trained: LocalStore, tmp_path: Path
) -> None:
    asked = request()
    asked["job"]["job_name"] = "never-seen-before"
    assert "cold start" in succeeded("rank", _file(tmp_path, asked), "--store", trained)


@pytest.mark.parametrize(
    ("values", "reason"),
    [({"candidates": []}, "no_candidates"), ({"candidates": ["moon"]}, "all_excluded")],
)
def test_an_empty_preference_of_a_valid_request_is_a_success(
    trained: LocalStore, tmp_path: Path, values: dict[str, Any], reason: str
) -> None:
    text = succeeded("rank", _file(tmp_path, request(**values)), "--store", trained)
    assert f"no preference ({reason})" in text


def test_an_invalid_request_ends_with_1_and_names_the_field(
    trained: LocalStore, tmp_path: Path
) -> None:
    path = _file(tmp_path, request(job={"job_name": "x"}))
    result = run("rank", path, "--store", trained)
    assert result.exit_code == 1
    assert "job.model_type" in result.output
    result = run("rank", path, "--store", trained, "--json")
    assert result.exit_code == 1
    assert checked(strict(result.stdout))["reason"] == "invalid_request"
    assert result.stderr.startswith("Error: job.model_type")


def test_a_store_without_a_model_says_so(store: LocalStore, request_file: Path) -> None:
    store.root.mkdir()
    text = succeeded("rank", request_file, "--store", store)
    assert "no preference (model_unavailable): the stage local points at no model" in text
    answer = checked(document("rank", request_file, "--store", store))
    assert answer["reason"] == "model_unavailable"


def test_switches_apply_only_where_a_stage_is_named(
    trained: LocalStore, tmp_path: Path, request_file: Path
) -> None:
    shutil.copytree(trained.root, tmp_path / "copy")
    pointers = tmp_path / "copy/pointers"
    shutil.copytree(pointers / "local", pointers / "prod")
    store = ("--store", tmp_path / "copy")
    assert document("rank", request_file, *store)["reason"] is None
    for stage in ("local", "prod"):
        answer = document("rank", request_file, *store, "--stage", stage)
        assert answer["reason"] == "switched_off"
        (pointers / stage / "switches.json").write_text('{"default": {"percent": 100}}')
        assert document("rank", request_file, *store, "--stage", stage)["reason"] is None


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"job": ' + b"9" * 5000 + b"}"]
)
def test_a_request_that_is_not_json_is_one_line(
    trained: LocalStore, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    assert "is not JSON" in refused("rank", path, "--store", trained)


def test_files_stores_and_stages_that_are_not_there_are_one_line(
    trained: LocalStore, tmp_path: Path, request_file: Path
) -> None:
    refused("rank", tmp_path / "missing.json", "--store", trained)
    refused("rank", tmp_path, "--store", trained)
    assert "does not exist" in refused("rank", "-", "--store", tmp_path / "missing")
    assert "not a folder" in refused("rank", "-", "--store", request_file)
    refused("rank", "-")
    refused("rank", "--store", trained)
    for stage in ("a/b", "..", "", "a b"):
        refused("rank", "-", "--store", trained, "--stage", stage)


@pytest.mark.parametrize(
    "name",
    ["[/x]", "[bold]x[/bold]", "ünïcode 🚀", "[1]", "100 %", ":rocket:"],
)
def test_any_id_is_printed_as_it_is(trained: LocalStore, tmp_path: Path, name: str) -> None:
    asked = request(candidates=[{"hardware_type": "fast-8", "id": name}, f"not {name}"])
    table, _, rest = succeeded("rank", _file(tmp_path, asked), "--store", trained).partition(
        "excluded"
    )
    assert name in table
    assert f"not {name}" in rest


def test_half_a_surrogate_pair_is_no_traceback(trained: LocalStore, tmp_path: Path) -> None:
    path = _file(tmp_path, request(candidates=["fast-8", "\ud800"]))
    done = process("rank", path, "--store", trained)
    assert done.returncode in (0, 1)
    assert b"Traceback" not in done.stderr
    assert done.stdout.startswith((b"no preference", b"Preference"))


def test_pointer_show_tells_what_a_stage_serves(trained: LocalStore) -> None:
    pointer = document("pointer", "show", "--store", trained)
    assert pointer["as_of"] == "2026-01-13"
    assert pointer["uri"] == f"models/throughput/{pointer['version']}"
    text = succeeded("pointer", "show", "--store", trained, "--stage", "local")
    assert all(value in text for value in pointer.values())


def test_pointer_show_of_nothing_is_one_line(trained: LocalStore, tmp_path: Path) -> None:
    assert "prod" in refused("pointer", "show", "--store", trained, "--stage", "prod")
    refused("pointer", "show", "--store", tmp_path / "missing")
    refused("pointer", "show", "--store", trained, "--stage", "../x")
    shutil.copytree(trained.root / "pointers", tmp_path / "pointers")
    (tmp_path / "pointers/local/throughput.json").write_text("{")
    assert "unreadable" in refused("pointer", "show", "--store", tmp_path)
