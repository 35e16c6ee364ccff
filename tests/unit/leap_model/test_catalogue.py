"""The hardware catalogue: what it reads, what it refuses, and how names are found in it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leap_model.catalogue import (
    SPECIFICATIONS,
    Catalogue,
    HardwareType,
    fold,
    parse_catalogue,
    read_catalogue,
)
from leap_model.errors import CatalogueError
from leap_model.limits import LEAST_COST_PER_HOUR, MOST_HARDWARE_TYPES

P4D: dict[str, Any] = {
    "hardware_type": "p4d.24xlarge",
    "vendor": "nvidia",
    "peak_fp16_tflops": 312,
    "memory_gb": 40.0,
    "accelerators_per_host": 8,
    "cost_per_hour": 32.77,
    "aliases": ["ml.p4d.24xlarge", "A100", "A100-SXM4-40GB"],
}
P5: dict[str, Any] = {
    "hardware_type": "p5.48xlarge",
    "vendor": "nvidia",
    "premium": True,
    "premium_min_efficiency": 0.7,
    "cost_per_accelerator_hour": 12,
    "aliases": ["H100"],
}
CSV = """\
hardware_type,vendor,peak_fp16_tflops,memory_gb,accelerators_per_host,cost_per_hour,aliases
p4d.24xlarge,nvidia,312,40.0, 8 ,32.77,ml.p4d.24xlarge;A100|A100-SXM4-40GB
"""


def one(**values: Any) -> HardwareType:
    return parse_catalogue([{"hardware_type": "a", **values}]).types[0]


def refusal(document: Any) -> str:
    with pytest.raises(CatalogueError) as caught:
        parse_catalogue(document)
    message = str(caught.value)
    assert message.splitlines() == [message]
    return message


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (json.dumps([P4D]), "hardware.json"),
        (json.dumps({"hardware_types": [P4D], "comment": "x"}), "hardware.json"),
        (json.dumps([P4D]), "hardware"),
        ("\ufeff" + json.dumps([P4D]), "hardware.json"),
        (CSV, "hardware.csv"),
        ("\ufeff" + CSV.replace("\n", "\r\n"), "HARDWARE.CSV"),
    ],
    ids=["list", "object", "no ending", "json with mark", "csv", "csv with mark"],
)
def test_json_and_csv_say_the_same(content: str, name: str) -> None:
    read = read_catalogue(content.encode(), name)
    assert read.types == parse_catalogue([P4D]).types
    assert read.types[0].specifications == {
        "peak_fp16_tflops": 312.0,
        "memory_gb": 40.0,
        "accelerators_per_host": 8.0,
    }


@pytest.mark.parametrize(
    "value",
    [["b", "c", "d e"], "b;c;d e", "b|c|d e", " b ; c | d e ", ";b;;c|d e|", "b\nc\nd e"],
)
def test_aliases_are_a_list_or_text_with_separators(value: Any) -> None:
    assert one(aliases=value).aliases == ("b", "c", "d e")


def test_empty_cells_are_unknown() -> None:
    read = read_catalogue(
        b"hardware_type,vendor,memory_gb,cost_per_hour,premium,aliases,slots\n"
        b"a,, ,,,,\nb,v,1,2,true,c,3\n",
        "x.csv",
    )
    assert read.types[0] == HardwareType("a")
    assert read.types[1] == HardwareType(
        "b", "v", {"memory_gb": 1.0, "slots": 3.0}, 2.0, premium=True, aliases=("c",)
    )


def test_names_in_csv_stay_text() -> None:
    read = read_catalogue(b"hardware_type,vendor,aliases\n4090,123,4090-true\n", "x.csv")
    assert (read.types[0].hardware_type, read.types[0].vendor) == ("4090", "123")
    assert read.find("4090-true") is read.types[0]


def test_every_numeric_column_is_a_specification_but_costs_and_premium() -> None:
    numbers = dict.fromkeys(SPECIFICATIONS, 1)
    entry = one(
        **numbers,
        slots=3,
        generation=2.5,
        network_class="efa",
        nested={"a": 1},
        nvlink=True,
        unknown=None,
        cost_per_hour=5,
        cost_per_accelerator_hour=1,
        premium=True,
        premium_min_efficiency=0.3,
    )
    assert entry.specifications == {
        **dict.fromkeys(SPECIFICATIONS, 1.0),
        "slots": 3,
        "generation": 2.5,
    }


def test_specifications_of_a_catalogue_are_those_of_any_type() -> None:
    read = parse_catalogue(
        [{"hardware_type": "a", "slots": 1}, {"hardware_type": "b", "memory_gb": 1}]
    )
    assert read.specifications == ("memory_gb", "slots")


def test_white_space_around_a_column_name_makes_no_cost_a_feature() -> None:
    read = read_catalogue(b"hardware_type, cost_per_hour, memory_gb\na, 5, 16\n", "x.csv")
    assert read.specifications == ("memory_gb",)
    assert read.types[0].cost_per_hour == 5.0


@pytest.mark.parametrize(
    ("values", "per_host", "cost"),
    [
        ({"cost_per_hour": 32}, 8, 32.0),
        ({"cost_per_hour": 32}, None, 32.0),
        ({"cost_per_accelerator_hour": 4}, 8, 32.0),
        ({"cost_per_accelerator_hour": 4}, 2.5, 10.0),
        ({"cost_per_accelerator_hour": 4}, None, None),
        ({"cost_per_hour": 30, "cost_per_accelerator_hour": 4}, 8, 30.0),
        ({}, 8, None),
    ],
)
def test_the_cost_of_a_host(values: dict[str, Any], per_host: float | None, cost: float) -> None:
    assert one(**values).host_cost(per_host) == cost


@pytest.mark.parametrize("name", ["cost_per_hour", "cost_per_accelerator_hour"])
@pytest.mark.parametrize("value", [0, -3, "32.77", True, [], float("nan"), float("inf"), 10**400])
def test_costs_are_positive_finite_numbers(name: str, value: Any) -> None:
    message = refusal([{"hardware_type": "a"}, {"hardware_type": "b", name: value}])
    assert message.startswith(f"row 2 of the catalogue: {name} is ")


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"hardware_type": None}, "hardware_type"),
        ({"hardware_type": " "}, "hardware_type"),
        ({"hardware_type": 4090}, "hardware_type"),
        ({"hardware_type": "a" * 257}, "hardware_type"),
        ({"vendor": 5}, "vendor"),
        ({"memory_gb": "80"}, "memory_gb"),
        ({"memory_gb": -1}, "memory_gb"),
        ({"memory_gb": float("nan")}, "memory_gb"),
        ({"memory_gb": True}, "memory_gb"),
        ({"slots": float("inf")}, "slots"),
        ({"premium": 1}, "premium"),
        ({"premium": "yes"}, "premium"),
        ({"premium_min_efficiency": -0.1}, "premium_min_efficiency"),
        ({"premium_min_efficiency": "0.5"}, "premium_min_efficiency"),
        ({"aliases": [5]}, "aliases"),
        ({"aliases": ["b", " "]}, "aliases"),
        ({"aliases": {"b": 1}}, "aliases"),
    ],
)
def test_a_row_that_breaks_a_rule_is_named(values: dict[str, Any], field: str) -> None:
    message = refusal([{"hardware_type": "a"} | values])
    assert message.startswith(f"row 1 of the catalogue: {field} is ")


@pytest.mark.parametrize(
    "document", [None, [], {}, {"hardware_types": []}, {"hardware_types": {}}, "a", 5, [5], [["a"]]]
)
def test_a_catalogue_must_hold_types(document: Any) -> None:
    refusal(document)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"", "x.json"),
        (b"", "x.csv"),
        (b"hardware_type,memory_gb\n", "x.csv"),
        (b"not json", "x.json"),
        (b"\xff\xfe", "x.json"),
        (b"\xff\xfe", "x.csv"),
        (b'[{"hardware_type": "a", "memory_gb": ' + b"9" * 5000 + b"}]", "x.json"),
        (b"[" * 100_000, "x.json"),
        (b"memory_gb\n5\n", "x.csv"),
        (b"hardware_type,cost_per_hour\na,$5\n", "x.csv"),
        (b"hardware_type,memory_gb\na,nan\n", "x.csv"),
        (b'hardware_type\n"' + b"a" * 200_000 + b'"\n', "x.csv"),
    ],
    ids=range(12),
)
def test_unreadable_files_give_a_catalogue_error_of_one_line(content: bytes, name: str) -> None:
    with pytest.raises(CatalogueError) as caught:
        read_catalogue(content, name)
    message = str(caught.value)
    assert message.splitlines() == [message]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"hardware_type": "A100"}, {"hardware_type": " a100 "}),
        ({"hardware_type": "p4d", "aliases": ["A100"]}, {"hardware_type": "a100"}),
        ({"hardware_type": "a100"}, {"hardware_type": "p4d", "aliases": ["A100"]}),
        ({"hardware_type": "a", "aliases": ["x"]}, {"hardware_type": "b", "aliases": ["y", "X "]}),
    ],
)
def test_a_name_or_alias_belongs_to_one_type(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert "a name or alias belongs to one type" in refusal([first, second])


def test_a_type_may_repeat_its_own_names() -> None:
    read = parse_catalogue([{"hardware_type": "A100", "aliases": ["a100", "A100", "x", "X"]}])
    assert read.find("x") is read.find("a100") is read.types[0]


def test_there_is_a_greatest_number_of_types() -> None:
    types = [HardwareType(f"t{at}") for at in range(MOST_HARDWARE_TYPES + 1)]
    assert len(Catalogue(types[1:])) == MOST_HARDWARE_TYPES
    with pytest.raises(CatalogueError, match="more than 4096 types"):
        Catalogue(types)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ml.p4d.24xlarge", "p4d.24xlarge"),
        ("P4D.24XLARGE", "p4d.24xlarge"),
        (" p4d.24xlarge ", "p4d.24xlarge"),
        ("A100", "p4d.24xlarge"),
        ("a100", "p4d.24xlarge"),
        ("A100-SXM4-40GB", "p4d.24xlarge"),
        ("H100", "p5.48xlarge"),
        *((name, None) for name in ("A100-80GB", "H100-MEGA", "NVIDIA", "", " ", "tpu-v5e")),
        *((name, None) for name in ("p4d", "p4d.24xlarge2", "A10", "A 100", "p4d-24xlarge")),
    ],
)
def test_names_match_exactly_after_trimming_and_case_folding(name: str, found: str | None) -> None:
    entry = parse_catalogue([P4D, P5]).find(name)
    assert (entry.hardware_type if entry else None) == found


def test_folding_goes_beyond_lower_case() -> None:
    assert fold(" STRASSE\n") == fold("straße")


NUMBERS = st.floats(0, allow_nan=False, allow_infinity=False)
COSTS = st.none() | st.floats(LEAST_COST_PER_HOUR, allow_infinity=False)
TYPES = st.builds(
    HardwareType,
    hardware_type=st.just("a"),
    vendor=st.none() | st.sampled_from(("nvidia", "aws")),
    specifications=st.dictionaries(st.sampled_from((*SPECIFICATIONS, "slots")), NUMBERS),
    cost_per_hour=COSTS,
    cost_per_accelerator_hour=COSTS,
    premium=st.just(True),
    premium_min_efficiency=NUMBERS,
    aliases=st.lists(st.sampled_from(("b", "c;d", "E|f")), unique=True).map(tuple),
)


@given(TYPES)
def test_a_catalogue_survives_json(entry: HardwareType) -> None:
    written = json.dumps(Catalogue([entry]).to_json(), allow_nan=False)
    again = parse_catalogue(json.loads(written))
    assert again.types == (entry,)
    assert again.to_json() == Catalogue([entry]).to_json()
