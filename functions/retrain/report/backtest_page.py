"""The page of a backtest: its nights, its methods, and the model's accuracy over all nights."""

from collections.abc import Mapping, Sequence
from typing import Any

from functions.retrain.report import accuracy
from functions.retrain.report.figures import amount, percent, points
from functions.retrain.report.nightly_page import UNITS
from functions.retrain.report.parts import card, page, section, table, tiles

_PARTED = ("by_decade", "by_model_rank", "by_hardware", "by_model_type")


def backtest_page(result: Mapping[str, Any]) -> str:
    """The page of what `backtest.backtest` gives."""
    own, nights, target = result["estimator"], result["nights"], result["target"]
    if own in result["comparators"]:  # with other constants
        own += " as set"
    methods = {own: result} | result["comparators"]
    ceiling = [(night["as_of"], night["noise_ceiling_w20"]) for night in nights]
    lines = {
        name: [(night["as_of"], night["w20"]) for night in entry["nights"]]
        for name, entry in methods.items()
    }
    note = "Each night's model, trained on what was before it, on what came after."
    if result["comparators"]:
        note += " A method counts the attempts that it answers."
    attempts = sum(night["attempts"] for night in nights)
    described = result["described"]
    unit = UNITS.get(target, target)
    content = [
        tiles(
            [
                ("within 20 %, median night", percent(result["median"]["w20"]), own),
                ("median error, median night", percent(result["median"]["mdape"]), own),
                ("attempts", f"{attempts:,}", f"{len(nights):,} nights"),
            ]
        ),
        section(
            "Nights and methods",
            [
                accuracy.nights(lines, ceiling, note),
                card("Median of the nights", table(_METHODS, _medians(methods))),
                _differences(result["differences"], own),
            ],
        ),
        section(
            f"Accuracy of {own} over all nights",
            [
                accuracy.density(described["predicted_against_measured"], unit),
                accuracy.calibration(described["calibration"]),
                accuracy.intervals(result["intervals"]),
                *accuracy.parts({name: pooled(nights, name) for name in _PARTED}),
            ],
        ),
        section("The data", [accuracy.spread(described["measured_by_hardware"], target)]),
    ]
    first, last = nights[0]["from"], nights[-1]["to"]
    return page(f"LEAP {target}, backtest of {own}, {first} to {last}", content)


def pooled(nights: Sequence[Mapping[str, Any]], name: str) -> dict[str, dict[str, Any]]:
    """w20 by part over the attempts of all nights; a rank of model types is each night's own."""
    counts: dict[str, list[float]] = {}
    for night in nights:
        for part, told in night[name].items():
            total = counts.setdefault(part, [0, 0])
            total[0] += told["attempts"]
            total[1] += (told["w20"] or 0) * told["attempts"]
    return {
        part: {"attempts": int(attempts), "w20": hits / attempts if attempts else None}
        for part, (attempts, hits) in counts.items()
    }


_METHODS = ("", "w20", "w10", "w5", "median error", "ratio", "attempts")


def _medians(methods: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, ...]]:
    return [
        (
            name,
            *(percent(entry["median"][figure]) for figure in ("w20", "w10", "w5", "mdape")),
            amount(entry["median"]["ratio"]),
            f"{sum(night['attempts'] for night in entry['nights']):,}",
        )
        for name, entry in methods.items()
    ]


def _differences(differences: Mapping[str, Mapping[str, Any]], own: str) -> str:
    rows = [
        (
            name,
            points(told["mean"]),
            "" if told["low"] is None else f"{points(told['low'])} to {points(told['high'])}",
            f"{told['nights']:,}",
        )
        for name, told in differences.items()
    ]
    title = f"w20 less that of {own}, on what each answers"
    return card(title, table(("", "points", "95 % interval", "nights"), rows)) if rows else ""
