"""openapi.json is what the code would write, and means what the contract says."""

import json
from typing import Any

import pytest

from functions.rank import openapi, shapes
from functions.rank.handler import PATHS
from tests.support import EXCLUSIONS, REASONS, request
from tests.unit.rank.calls import ANSWER, DESCRIPTION
from tests.unit.rank.json_schema import SchemaError, validate
from tests.unit.ranking.hand_made import hand_made, hardware, job, ranker_of

REQUEST = DESCRIPTION["components"]["schemas"]["Request"]


def test_the_committed_description_is_the_one_that_the_code_writes() -> None:
    assert openapi.PATH.read_text(encoding="utf-8") == openapi.text(), (
        "run: python -m functions.rank.openapi"
    )


def test_every_path_of_the_handler_is_described() -> None:
    assert set(DESCRIPTION["paths"]) == {path.rstrip("/") or "/" for path in PATHS}
    for path in DESCRIPTION["paths"].values():
        assert path["post"]["responses"].keys() == {"200", "400", "404", "405"}


def test_operations_have_ids_of_their_own() -> None:
    ids = [path["post"]["operationId"] for path in DESCRIPTION["paths"].values()]
    assert len(set(ids)) == len(ids)


def test_every_reason_is_described() -> None:
    assert set(shapes.REASONS) == REASONS
    assert set(shapes.EXCLUSIONS) == EXCLUSIONS


def test_every_reference_leads_to_a_schema() -> None:
    def references(value: Any) -> list[str]:
        if isinstance(value, list):
            return [found for entry in value for found in references(entry)]
        if isinstance(value, dict):
            own = [value["$ref"]] if "$ref" in value else []
            return own + [found for entry in value.values() for found in references(entry)]
        return []

    known = {f"#/components/schemas/{name}" for name in DESCRIPTION["components"]["schemas"]}
    assert set(references(DESCRIPTION)) == known


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"candidates": []},
        {"candidates": None, "launched_at": None, "allow_untrained": None},
        {"allow_untrained": True, "more": {"is": "tolerated"}},
        {
            "candidates": [
                {
                    "hardware_type": "fast-8",
                    "id": "spot",
                    "cost_per_hour": 20.5,
                    "num_trainers": 4,
                    "batch_size": 32,
                    "accelerators_per_host": 8,
                    "config": {"precision": "fp8", "nested": {"is": "dropped"}},
                    "allocation": {"zone": "a", "spot": True, "tier": None},
                },
                {"hardware_type": "mid-8", "cost_per_hour": None, "config": None},
            ]
        },
    ],
)
def test_a_request_of_the_contract_fits(changed: dict[str, Any]) -> None:
    validate(request(**changed), REQUEST, DESCRIPTION)


@pytest.mark.parametrize(
    "document",
    [
        *(None, [], {}, {"job": None}, {"job": {}}, {"job": job(num_trainers=0)}),
        *({"job": job(num_trainers=1.5)}, {"job": job(num_trainers=True)}),
        *({"job": job(batch_size="64")}, {"job": job(batch_size=0)}, {"job": job(job_name="")}),
        *({"job": job(), "candidates": "a"}, {"job": job(), "candidates": [5]}),
        {"job": job(), "candidates": ["a"] * 1001},
        {"job": job(), "candidates": [{"id": "x"}]},
        {"job": job(architecture={"x": "1"})},
    ],
)
def test_what_is_no_request_does_not_fit(document: Any) -> None:
    with pytest.raises(SchemaError):
        validate(document, REQUEST, DESCRIPTION)


def _answer(**changed: Any) -> dict[str, Any]:
    artifact = hand_made([hardware("a", peak_fp16_tflops=1.0), hardware("b")], rows={"a": 50})
    document = {"job": job(), "candidates": ["a", "b", "moon"], "allow_untrained": True}
    return {**ranker_of(artifact).rank(document), **changed}


def test_an_answer_with_every_kind_of_entry_fits() -> None:
    answer = _answer()
    assert [entry.get("extrapolated") for entry in answer["preference"]] == [None, True]
    validate(answer, ANSWER, DESCRIPTION)


@pytest.mark.parametrize(
    "changed",
    [
        *({"preference": []}, {"reason": "internal_error"}, {"reason": "other"}),
        *({"ranking_id": ""}, {"model_version": 5}, {"models": []}, {"excluded": None}),
        {"preference": [{"id": "a"}]},
        {"excluded": [{"id": "a", "hardware_type": "a", "reason": "dull"}]},
    ],
)
def test_an_answer_that_breaks_the_contract_does_not_fit(changed: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        validate(_answer(**changed), ANSWER, DESCRIPTION)


@pytest.mark.parametrize("name", sorted(_answer().keys() - {"cold_start"}))
def test_an_answer_without_a_key_does_not_fit(name: str) -> None:
    answer = _answer()
    del answer[name]
    with pytest.raises(SchemaError):
        validate(answer, ANSWER, DESCRIPTION)


def test_the_check_knows_no_keyword_by_guessing() -> None:
    with pytest.raises(KeyError, match="pattern"):
        validate("x", {"pattern": "y"}, {})


def test_the_description_is_strict_json() -> None:
    json.dumps(DESCRIPTION, allow_nan=False)
