"""The page of one nightly run."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from functions.retrain.report import accuracy, model
from functions.retrain.report.figures import UNKNOWN, percent
from functions.retrain.report.markup import element, joined, text
from functions.retrain.report.parts import page, section, table, tiles

UNITS = {"throughput": "samples per second", "utilization": "share of the accelerators' time"}


def nightly_page(metrics: Mapping[str, Any]) -> str:
    """The page of the metrics that `nightly.retrain` gives."""
    evaluation, target = metrics["evaluation"], metrics["target"]
    unit = UNITS.get(target, target)
    note = "Each version that the stage pointed at before this run, and this one, on its own day."
    nights = metrics["nights"]
    title = f"LEAP {target}, version {metrics['version']}"
    content = [
        _headline(evaluation),
        section(
            f"Accuracy on {evaluation['attempts']:,} attempts of {evaluation['from']}",
            [
                accuracy.accuracy(evaluation),
                accuracy.nights(
                    {"within 20 %": [(night["as_of"], night["w20"]) for night in nights]},
                    [(night["as_of"], night["noise_ceiling_w20"]) for night in nights],
                    note,
                ),
                *_where_told(
                    metrics["predicted_against_measured"], lambda told: accuracy.density(told, unit)
                ),
                *_where_told(metrics["calibration"], accuracy.calibration),
                accuracy.intervals(metrics["intervals"]),
                *accuracy.parts(evaluation),
            ],
        ),
        section(
            "The model and its data",
            [
                *model.importance(metrics["importance"]),
                model.first_choices(metrics["first_choices"]),
                *_where_told(
                    metrics["measured_by_hardware"], lambda told: accuracy.spread(told, target)
                ),
            ],
        ),
        section("Champion and challengers", model.trial(metrics["trial"])),
        section("The cascade", model.cascade(metrics["learning"])),
        element("h2", "The run"),
        table((), _facts(metrics), "facts"),
        *_noticed(metrics),
    ]
    return page(title, content)


def _where_told(told: Any, draw: Callable[[Any], str]) -> list[str]:
    """What is drawn of it; nothing where the run could not tell it."""
    return [] if told is None else [draw(told)]


def _headline(evaluation: Mapping[str, Any]) -> str:
    interval = evaluation["noise_ceiling_interval"]
    between = "" if interval is None else f"{percent(interval[0])} to {percent(interval[1])}"
    cold, warm = evaluation["cold"], evaluation["warm"]
    return tiles(
        [
            ("within 20 %", percent(evaluation["w20"]), f"{evaluation['attempts']:,} attempts"),
            ("the most possible", percent(evaluation["noise_ceiling_w20"]), between),
            ("median error", percent(evaluation["mdape"]), _ratio(evaluation["ratio"])),
            ("new families", percent(cold["w20"]), f"{cold['attempts']:,} attempts"),
            ("known families", percent(warm["w20"]), f"{warm['attempts']:,} attempts"),
        ]
    )


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"median of predicted ÷ measured {ratio:.3f}"


def _facts(metrics: Mapping[str, Any]) -> list[tuple[str, str]]:
    evaluation, window = metrics["evaluation"], metrics["window"]
    pointed = (
        "the stage points at it" if metrics["pointed"] else f"not pointed: {metrics['reason']}"
    )
    return [
        ("estimator", str(metrics["estimator"])),
        ("trained on", f"{metrics['rows']:,} attempts, {window['from']} to {window['to']}"),
        ("days without attempts", f"{len(window['missing_days']):,}"),
        ("judged on", f"{evaluation['attempts']:,} attempts of {evaluation['from']}"),
        ("published", pointed),
        ("the live model", _live(metrics["live"])),
        ("seconds", ", ".join(f"{name} {s:.1f}" for name, s in metrics["seconds"].items())),
        ("peak memory", f"{metrics['peak_memory_mb']:,.0f} MB"),
    ]


def _live(live: Mapping[str, Any] | None) -> str:
    if live is None:
        return "there was none"
    if live["evaluation"] is None:
        return f"{live['version']}: not scored, {live['reason'] or UNKNOWN}"
    within = percent(live["evaluation"]["w20"])
    return f"{live['version']}: within 20 % {within} on the same attempts"


def _noticed(metrics: Mapping[str, Any]) -> Iterable[str]:
    notes = [
        f"{count:,} attempts ran on {name}, unknown to the catalogue"
        for name, count in metrics["unknown_hardware"].items()
    ]
    notes += [f"left out {key}: it is no attempt file" for key in metrics["skipped_objects"]]
    if notes:
        yield element("h2", "Noticed")
        yield element("ul", joined(element("li", text(note)) for note in notes))
