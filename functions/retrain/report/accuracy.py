"""Pictures of accuracy: bands, parts, predicted against measured, calibration, nights."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from functions.retrain.report.axes import Axis, power_of_ten
from functions.retrain.report.drawing import LEFT, RIGHT
from functions.retrain.report.figures import amount, percent
from functions.retrain.report.parts import card, figure, key, table
from functions.retrain.report.planes import (
    SERIES,
    SHADES,
    density_plane,
    nights_plane,
    shade_of,
)
from functions.retrain.report.rows import Bar, bars, boxes

MOST_DRAWN = 24
"""Rows of one picture; its table has more."""
CEILING = "the most that any model could have"
_SHARES = Axis(0, 1, LEFT, RIGHT)


def accuracy(evaluation: Mapping[str, Any]) -> str:
    """Shares within bands, of new and known families, and the ceiling with its interval."""
    cold, warm = evaluation["cold"], evaluation["warm"]
    shares = [
        ("within 20 %", evaluation["w20"]),
        ("within 15 %", evaluation["w15"]),
        ("within 10 %", evaluation["w10"]),
        ("within 5 %", evaluation["w5"]),
        ("accel.-hours", evaluation["w20_by_gpu_hours"]),
        ("new families", cold["w20"]),
        ("known families", warm["w20"]),
    ]
    ceiling, interval = evaluation["noise_ceiling_w20"], evaluation["noise_ceiling_interval"]
    between = "" if interval is None else f"{percent(interval[0])} to {percent(interval[1])}"
    said = {
        "accel.-hours": "within 20 %, by accelerator-hours",
        "new families": f"within 20 %, families that never ran before ({cold['attempts']:,})",
        "known families": f"within 20 %, families that ran before ({warm['attempts']:,})",
    }
    rows = [(said.get(name, name), percent(value), "") for name, value in shares]
    rows.append((f"within 20 %, {CEILING}", percent(ceiling), between))
    drawn = bars(
        [Bar(name, value, percent(value)) for name, value in shares],
        _SHARES,
        _percent_tick,
        "Share of attempts within each band of what was measured",
        mark=ceiling,
        band=interval,
    )
    note = "The last three are within 20 %."
    if ceiling is not None:
        note += f" The broken line is {CEILING} within 20 %, with its interval as a strip."
    header = ("share of attempts", "", "95 % interval")
    return figure("Accuracy and its ceiling", note, drawn, header, rows)


def intervals(found: Mapping[str, Any] | None) -> str:
    """How many attempts lay within what was told of them; nothing where nothing was."""
    if found is None or not found["attempts"]:
        return ""
    decades = sorted(found["by_decade"].items(), key=lambda entry: int(entry[0][2:]))
    parts = [("all", found), *found["by_group"].items(), *decades]
    rows = [
        (name, f"{part['attempts']:,}", percent(part["within"]), amount(part["width"]))
        for name, part in parts
    ]
    header = ("by what was known, and from which power of ten", "attempts", "within", "high ÷ low")
    return card("Within their intervals, where 80 % should be", table(header, rows))


def by_part(title: str, kind: str, groups: Mapping[str, Mapping[str, Any]], order: bool) -> str:
    """w20 by part, most attempts first where `order` says so."""
    entries = list(groups.items())
    if order:
        entries.sort(key=lambda item: (-item[1]["attempts"], item[0]))
    rows = [(name, f"{part['attempts']:,}", percent(part["w20"])) for name, part in entries]
    drawn = bars(
        [Bar(name, part["w20"], f"{part['attempts']:,}") for name, part in entries[:MOST_DRAWN]],
        _SHARES,
        _percent_tick,
        f"Share of attempts within 20 % by {kind}",
    )
    note = f"Share of attempts within 20 % of measured by {kind}; beside it, how many."
    if len(entries) > MOST_DRAWN:
        note += f" The {MOST_DRAWN} commonest of {len(entries):,}."
    return figure(title, note, drawn, (kind, "attempts", "within 20 %"), rows)


def parts(evaluation: Mapping[str, Any]) -> Iterable[str]:
    """w20 by everything that evaluations are parted by."""
    decades = evaluation["by_decade"]
    powers = sorted((int(name[2:]), name) for name in decades)
    ordered = {f"from {power_of_ten(10.0**power)}": decades[name] for power, name in powers}
    ranks = {_RANKS.get(name, name): part for name, part in evaluation["by_model_rank"].items()}
    yield by_part("By power of ten", "power of ten of what was measured", ordered, False)
    yield by_part("By commonness of the model type", "rank of the model type", ranks, False)
    yield by_part("By hardware type", "hardware type", evaluation["by_hardware"], True)
    yield by_part("By model type", "model type", evaluation["by_model_type"], True)


_RANKS = {"1-19": "1 to 19", "20-100": "20 to 100", "101-": "101 and on"}


def density(found: Mapping[str, Any], unit: str) -> str:
    """Predicted against measured, as counts."""
    cells = found["cells"]
    outside = found["outside"]
    if not cells:
        return ""
    most = max(count for *_, count in cells)
    counts: dict[int, list[int]] = {}
    for *_, count in cells:
        counts.setdefault(shade_of(count, most), []).append(count)
    shades = [
        (f"d{at}", "", _between(min(counts[at]), max(counts[at])))
        for at in range(SHADES)
        if at in counts
    ]
    note = f"Attempts in cells of equal ratio, {unit}; the broken lines are 20 % off."
    if outside:
        note += (
            f" {outside:,} predictions lie more than a factor of ten beyond all that was measured, "
            "and are not drawn."
        )
    name = "Attempts by what was predicted and what was measured"
    header = ("measured", "predicted", "attempts")
    drawn, rows = density_plane(found, name), _coarse(found)
    return figure("Predicted against measured", note, drawn, header, rows, key(shades))


def _coarse(found: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The same counts in cells of a factor of ten, so that a table of them can be read."""
    counts: dict[tuple[int, int], int] = {}
    for measured, predicted, count in found["cells"]:
        place = (measured // found["per_decade"], predicted // found["per_decade"])
        counts[place] = counts.get(place, 0) + count
    return [
        (_decade(measured), _decade(predicted), f"{count:,}")
        for (measured, predicted), count in sorted(counts.items())
    ]


def _between(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _decade(power: int) -> str:
    return f"{amount(10.0**power)} to {amount(10.0 ** (power + 1))}"


def calibration(tenths: Sequence[Mapping[str, Any]]) -> str:
    """Predicted ÷ measured by tenth of the predictions."""
    rows = [
        (
            f"{amount(tenth['from'])} to {amount(tenth['to'])}",
            f"{tenth['attempts']:,}",
            *(amount(tenth[q]) for q in _QUANTILES),
        )
        for tenth in tenths
    ]
    drawn = boxes(
        [(f"from {amount(tenth['from'])}", tenth) for tenth in tenths],
        "predicted ÷ measured",
        "Quantiles of predicted over measured by tenth of the predictions",
        mark=1.0,
        band=(0.8, 1.2),
    )
    note = (
        "A tenth of the attempts a row, least predictions first: p5 to p95 as a line, p25 to p75 "
        "as a box, the median as a stroke. The broken line is a perfect prediction; the strip is "
        "within 20 %."
    )
    return figure("Calibration", note, drawn, ("predicted", "attempts", *_QUANTILES), rows)


_QUANTILES = ("p5", "p25", "p50", "p75", "p95")


def spread(by_type: Mapping[str, Mapping[str, Any]], target: str) -> str:
    """Quantiles of what was measured by hardware type."""
    entries = sorted(by_type.items(), key=lambda item: (-item[1]["attempts"], item[0]))
    rows = [
        (name, f"{part['attempts']:,}", *(amount(part[q]) for q in _QUANTILES))
        for name, part in entries
    ]
    drawn = boxes(entries[:MOST_DRAWN], target, f"Quantiles of {target} by hardware type")
    note = (
        "What was measured on each type, commonest first: p5 to p95 as a line, p25 to p75 as a "
        "box, the median as a stroke."
    )
    if len(entries) > MOST_DRAWN:
        note += f" The {MOST_DRAWN} commonest of {len(entries):,}."
    title = f"{target.capitalize()} by hardware type"
    return figure(title, note, drawn, ("hardware type", "attempts", *_QUANTILES), rows)


def nights(
    methods: Mapping[str, Sequence[tuple[str, float | None]]],
    ceiling: Sequence[tuple[str, float | None]],
    note: str,
) -> str:
    """w20 by night, a line a method, and the ceiling where one is known."""
    series = [
        [(date.fromisoformat(day), share) for day, share in entries]
        for entries in (*methods.values(), ceiling)
    ]
    dates = sorted({day for entries in series for day, _ in entries})
    if not dates:
        return ""
    known = any(share is not None for _, share in ceiling)
    told = [dict(entries) for entries in (series if known else series[:-1])]
    rows = [
        (day.isoformat(), *(percent(each.get(day)) for each in told)) for day in reversed(dates)
    ]
    names = [*methods, *([CEILING] if known else [])]
    keyed = [
        (f"line s{at}", "", name if len(methods) == 1 else f"{chr(ord('A') + at)}  {name}")
        for at, name in enumerate(methods)
        if at < SERIES
    ]
    if known:
        keyed.append(("line ceiling", "", CEILING))
    if len(methods) > SERIES:
        note += f" The first {SERIES} methods are drawn; the table has all."
    drawn = nights_plane(series, "Share within 20 % by night", ceiling=len(methods))
    return figure("Within 20 % by night", note, drawn, ("night", *names), rows, key(keyed))


def _percent_tick(share: float) -> str:
    return f"{share * 100:.0f} %"
