"""Features: which columns a model gets and how each becomes a number, in training as in serving."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from leap_model.catalogue import parse_catalogue
from leap_model.columns import Floats, Jobs, Objects
from leap_model.errors import ArtifactError
from leap_model.features import Schema, raw_columns
from leap_model.features.raw import FEATURES_VERSION, Raw
from leap_model.features.schema import SCALES, CategoryColumn, NumberColumn, fit_schema
from leap_model.history import History, no_history
from leap_model.limits import MOST_CATEGORIES, MOST_KEYS
from tests.support import CATALOGUE
from tests.unit.leap_model.builders import LAUNCH, jobs_of

Rows = list[dict[str, Any]]
HARDWARE = parse_catalogue(CATALOGUE)


def raw_of(rows: Rows, history: History | None = None) -> Raw:
    known = no_history(len(rows)) if history is None else history
    return raw_columns(jobs_of(rows), known, HARDWARE)


def schema_of(rows: Rows, history: History | None = None) -> Schema:
    return fit_schema(raw_of(rows, history), jobs_of(rows))


def column_of(schema: Schema, name: str) -> NumberColumn | CategoryColumn:
    return schema.columns[schema.names.index(name)]


def values_of(schema: Schema, name: str, rows: Rows, history: History | None = None) -> Floats:
    matrix = schema.encode(raw_of(rows, history), len(rows))
    assert matrix.shape == (len(rows), len(schema.columns))
    return matrix[:, schema.names.index(name)].astype(np.float64)


def history_of(rows: int, runs: float = 2.0) -> History:
    known = np.full(rows, runs)
    nothing = np.where(known > 0, 0.0, np.nan)
    return History(nothing + 1.5, nothing + 1.25, nothing + 0.5, known, known.astype(np.int64))


def configs(*values: Any) -> Rows:
    """A row a value of config.x; None leaves it out."""
    return [{"config": {} if value is None else {"x": value}} for value in values]


def varied(count: int = 60) -> Rows:
    return [
        {
            "model_type": ("resnet", "bert", "ctr")[at % 3],
            "hardware_type": ("fast-8", "mid-8", "slow-4", "elsewhere")[at % 4],
            "num_trainers": 1 + at % 5,
            "config": {"lr": at / 7, "precision": "bf16" if at % 2 else "fp32"},
            "allocation": {"zone": "abc"[at % 3]},
            "architecture": {"gmacs": at + 1.0, "params_m": at + 10.0},
        }
        for at in range(count)
    ]


def test_one_row_at_a_time_is_encoded_as_all_together() -> None:
    rows = varied()
    schema = schema_of(rows)
    together = schema.encode(raw_of(rows), len(rows))
    alone = [schema.encode(raw_of([row]), 1)[0] for row in rows]
    np.testing.assert_array_equal(np.array(alone), together)
    assert np.isfortran(together)


@pytest.mark.parametrize("runs", [0.0, 3.0])
@pytest.mark.parametrize("at", [0, 1, 7])
def test_what_the_rows_of_a_ranking_share_is_encoded_as_if_each_had_it(
    at: int, runs: float
) -> None:
    schema = schema_of(varied(), history_of(60))
    job = varied()[at]
    rows = [job | {"hardware_type": name} for name in ("fast-8", "mid-8", "slow-4", "elsewhere")]
    config, allocation, architecture = (
        Objects.of_rows([job[name]] * len(rows))
        for name in ("config", "allocation", "architecture")
    )
    jobs = replace(jobs_of(rows), config=config, allocation=allocation, architecture=architecture)
    one = history_of(1, runs)
    together = schema.encode(raw_columns(jobs, one, HARDWARE), len(rows))
    each = one.take(np.zeros(len(rows), np.int64))
    np.testing.assert_array_equal(together, schema.encode(raw_of(rows, each), len(rows)))
    assert together.dtype == np.float32


@pytest.mark.parametrize("value", [1e39, -1e39, 1.7e308])
def test_what_32_bits_do_not_hold_is_missing(value: float) -> None:
    schema = schema_of(configs(*range(60)))
    several, one = configs(value, 1.0), configs(value)
    np.testing.assert_array_equal(values_of(schema, "config.x", several), [np.nan, 1.0])
    np.testing.assert_array_equal(values_of(schema, "config.x", one), [np.nan])


def test_the_order_of_rows_and_of_columns_does_not_choose_the_schema() -> None:
    rows = varied()
    assert schema_of(rows[::-1]) == schema_of(rows)
    raw = raw_of(rows)
    turned = dict(reversed(raw.items()))
    schema = fit_schema(turned, jobs_of(rows))
    assert schema == schema_of(rows)
    np.testing.assert_array_equal(schema.encode(turned, 60), schema.encode(raw, 60))


@pytest.mark.parametrize("scale", [None, *SCALES])
def test_a_model_has_the_rate_where_it_predicts_the_rest_of_it_and_every_scale_is_never_missing(
    scale: str | None,
) -> None:
    rows = varied()
    schema = fit_schema(raw_of(rows), jobs_of(rows), scale=scale)
    kept = {*SCALES} - ({"ratio.log_rate"} - {scale})
    assert {*schema.names} & {*SCALES} == kept
    for name in kept:
        assert np.isfinite(values_of(schema, name, [{"hardware_type": "unheard of"}])).all()


def test_categories_have_the_codes_of_the_schema_not_of_the_data_at_hand() -> None:
    schema = schema_of(
        [{"model_type": name} for name in ["a100"] * 30 + ["h100"] * 20 + ["t4"] * 10]
    )
    assert column_of(schema, "job.model_type") == CategoryColumn(
        "job.model_type", ("a100", "h100", "t4"), other=False
    )
    for name, code in (("t4", 2.0), ("a100", 0.0), ("h100", 1.0)):
        assert values_of(schema, "job.model_type", [{"model_type": name}]) == [code]


def test_an_unseen_category_is_missing_where_training_saw_no_rest() -> None:
    schema = schema_of(configs(*["a"] * 10, *["b"] * 10, None))
    values = values_of(schema, "config_text.x", configs("b", "a", "new", None))
    np.testing.assert_array_equal(values, [1, 0, np.nan, np.nan])


def test_rare_categories_share_a_code_with_the_unseen() -> None:
    schema = schema_of(configs(*["a"] * 10, *["b"] * 9, "c"))
    assert column_of(schema, "config_text.x") == CategoryColumn("config_text.x", ("a",), other=True)
    values = values_of(schema, "config_text.x", configs("a", "b", "c", "new", None))
    np.testing.assert_array_equal(values, [0, 1, 1, 1, np.nan])


def test_the_commonest_categories_get_codes_and_the_rest_one() -> None:
    names = [f"m{at:03}" for at in range(300)]
    counts = [11 + (at in (7, 299)) for at in range(300)]
    schema = schema_of(
        configs(*(name for name, n in zip(names, counts, strict=True) for _ in range(n)))
    )
    column = column_of(schema, "config_text.x")
    assert isinstance(column, CategoryColumn)
    assert len(column.values) == MOST_CATEGORIES == 254
    assert column.values[:4] == ("m007", "m299", "m000", "m001")
    codes = values_of(schema, "config_text.x", configs(*names))
    assert codes.max() == 254
    assert np.count_nonzero(codes == 254) == 300 - 254


def test_a_name_may_carry_numbers_texts_and_booleans() -> None:
    rows = configs(*[0.5] * 10, *["auto"] * 10, *[True] * 10, *[False] * 10, None)
    schema = schema_of(rows)
    asked = configs(0.5, "auto", True, False, None, "odd")
    nan = np.nan
    np.testing.assert_array_equal(values_of(schema, "config.x", asked), [0.5, nan, 1, 0, nan, nan])
    np.testing.assert_array_equal(
        values_of(schema, "config_text.x", asked), [nan, 0, nan, nan, nan, nan]
    )


@pytest.mark.parametrize(
    ("values", "number", "text"),
    [
        ([1, 1, 1], False, False),
        ([1, 2, 1], True, False),
        ([1, 1, None], True, False),
        ([None, None, None], False, False),
        (["a"] * 12, False, False),
        ([*["a"] * 12, None], False, True),
        ([*["a"] * 12, "b"], False, True),
        (["a", "b", "c"], False, False),
        (["a", "b", None], False, True),
    ],
    ids=str,
)
def test_a_column_stays_if_it_tells_rows_apart(values: list[Any], number: bool, text: bool) -> None:
    names = schema_of(configs(*values)).names
    assert ("config.x" in names, "config_text.x" in names) == (number, text)


def test_a_null_is_the_same_as_an_absent_value() -> None:
    rows: Rows = [{"config": {"x": None}}, {"config": {}}, {"config": {"x": 1}}]
    values = values_of(schema_of(rows), "config.x", rows)
    np.testing.assert_array_equal(values, [np.nan, np.nan, 1])


def test_of_each_open_object_the_commonest_names_stay() -> None:
    wide: dict[str, Any] = {f"k{at:03}": at for at in range(MOST_KEYS + 10)}
    rows: Rows = [{"config": wide, "architecture": wide}, {"config": {"k265": 0, "k264": 1}}] * 2
    names = schema_of(rows).names
    config = [name for name in names if name.startswith("config.")]
    assert len(config) == MOST_KEYS
    assert {"config.k264", "config.k265", "config.k000"} <= set(config)
    assert "config.k263" not in config
    assert len([name for name in names if name.startswith("architecture.")]) == MOST_KEYS


def histories(runs: list[int]) -> History:
    none = [count == 0 for count in runs]
    last = np.where(none, np.nan, np.arange(len(runs)) + 1.0)
    return History(
        last,
        last + 1,
        last / 10,
        np.array(runs, np.float64),
        np.where(none, 0, LAUNCH - 86_400_000_000),
    )


def test_history_that_a_family_does_not_have_is_the_median_of_those_that_have_it() -> None:
    history = histories([1, 0, 2, 5, 0, 1])
    rows: Rows = [{}] * 6
    schema = schema_of(rows, history)
    assert column_of(schema, "history.last") == NumberColumn("history.last", 3.5)
    assert column_of(schema, "history.days_since_last") == NumberColumn(
        "history.days_since_last", 1.0
    )
    encoded = values_of(schema, "history.last", rows, history)
    np.testing.assert_array_equal(encoded, [1, 3.5, 3, 4, 3.5, 6])
    cold = values_of(schema, "history.mean", [{}], no_history(1))
    np.testing.assert_array_equal(cold, [4.5])
    np.testing.assert_array_equal(values_of(schema, "history.runs", [{}], no_history(1)), [0])


def test_without_any_history_there_are_no_history_columns() -> None:
    assert not [name for name in schema_of(varied()).names if name.startswith("history.")]


def test_costs_and_premium_are_no_columns() -> None:
    names = set(raw_of(varied()))
    assert "hardware.peak_fp16_tflops" in names
    assert not [name for name in names if "cost" in name or "premium" in name]


def test_required_columns_are_those_that_nearly_every_job_had() -> None:
    rows: Rows = [
        {
            "config": {
                "always": 1,
                **({"nearly": "x"} if at else {}),
                "mixed": at if at % 2 else "t",
            },
            "architecture": {"gmacs": 1, **({} if at < 2 else {"rarer": 2})},
            "allocation": {"zone": "a"},
        }
        for at in range(100)
    ]
    assert set(schema_of(rows).required) == {
        *("config.always", "config.nearly", "config.mixed", "architecture.gmacs"),
    }


def test_a_schema_survives_json() -> None:
    schema = schema_of(varied(), histories([1, 0, 2] * 20))
    again = Schema.from_json(json.loads(json.dumps(schema.to_json(), allow_nan=False)))
    assert again == schema
    assert any(again.is_categorical())
    assert not all(again.is_categorical())
    matrix = again.encode(raw_of(varied()), 60)
    np.testing.assert_array_equal(matrix, schema.encode(raw_of(varied()), 60))


NUMBER = {"name": "a", "kind": "number", "imputed": None}


@pytest.mark.parametrize(
    "values",
    [
        {"features_version": FEATURES_VERSION + 1},
        {"features_version": None},
        {"features_version": str(FEATURES_VERSION)},
        {"columns": None},
        {"columns": [5]},
        {"columns": [{"name": "a", "kind": "number"}]},
        {"columns": [{**NUMBER, "kind": "else", "imputed": "x"}]},
        {"columns": [{**NUMBER, "imputed": "much"}]},
        {"columns": [{"name": "a", "kind": "category", "values": None, "other": True}]},
        {"columns": [NUMBER, NUMBER]},
        {"required": 5},
    ],
    ids=str,
)
def test_a_schema_of_other_code_or_malformed_is_refused(values: dict[str, Any]) -> None:
    document = {"features_version": FEATURES_VERSION, "columns": [NUMBER], "required": []}
    assert Schema.from_json(document).names == ("a",)
    with pytest.raises(ArtifactError) as caught:
        Schema.from_json(document | values)
    assert "\n" not in str(caught.value)


def test_a_column_that_serving_lacks_or_has_as_another_kind_is_missing() -> None:
    schema = Schema(
        (NumberColumn("n"), NumberColumn("h", 3.0), CategoryColumn("c", ("a",), True)), ()
    )
    np.testing.assert_array_equal(schema.encode({}, 2), [[np.nan, 3, np.nan]] * 2)
    raw = raw_of(configs("a", 5))
    crossed: Raw = {"n": raw["config_text.x"], "h": raw["config_text.x"], "c": raw["config.x"]}
    np.testing.assert_array_equal(schema.encode(crossed, 2), [[np.nan, 3, np.nan]] * 2)


def test_no_jobs_give_no_rows() -> None:
    nothing: Jobs = jobs_of([])
    raw = raw_columns(nothing, no_history(0), HARDWARE)
    assert schema_of(varied()).encode(raw, 0).shape[0] == 0
