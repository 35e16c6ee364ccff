"""Pictures of a model: what it leans on, what it would put first, and how a cascade parted."""

from collections.abc import Iterable, Mapping
from typing import Any

from functions.retrain.importance import BUDGET_S
from functions.retrain.report.axes import Axis
from functions.retrain.report.drawing import LEFT, RIGHT
from functions.retrain.report.figures import UNKNOWN, percent, points
from functions.retrain.report.parts import card, figure, key, quiet, table
from functions.retrain.report.rows import KINDS, LETTERS, Bar, bars, stacks

MOST_COLUMNS = 20


def importance(found: Mapping[str, Any] | None) -> Iterable[str]:
    """Points of w20 lost by group and by column."""
    if found is None:
        return
    whole = (
        f"Points of w20 lost when the values are dealt to other attempts: {found['attempts']:,} of "
        f"those evaluated, at {percent(found['w20'])}."
    )
    yield _lost(
        "What the model leans on, by group", f"{whole} A group's together.", found["groups"]
    )
    note = f"{whole} Columns that say the same hide each other."
    if len(found["columns"]) > MOST_COLUMNS:
        note += f" The {MOST_COLUMNS} greatest of {len(found['columns']):,}."
    if found["left_out"]:
        note += f" {found['left_out']:,} had no turn in {BUDGET_S:.0f} seconds of processor time."
    yield _lost("What the model leans on, by column", note, found["columns"])


def _lost(title: str, note: str, lost: Mapping[str, float]) -> str:
    entries = sorted(lost.items(), key=lambda item: (-item[1], item[0]))
    drawn = [Bar(name, share, points(share)) for name, share in entries[:MOST_COLUMNS]]
    values = [bar.value or 0.0 for bar in drawn]
    axis = Axis(min([-0.001, *values]), max([0.001, *values]), LEFT, RIGHT)
    picture = bars(drawn, axis, lambda share: f"{share * 100:.3g}", title) if drawn else ""
    rows = [(name, points(share)) for name, share in entries]
    return figure(title, note, picture, ("", "points of w20 lost"), rows)


def first_choices(found: Mapping[str, Any] | None) -> str:
    """The share of each type among those ranked first, by model type."""
    if found is None or not found["model_types"]:
        return ""
    total: dict[str, int] = {}
    for entry in found["model_types"].values():
        for name, count in entry["first"].items():
            total[name] = total.get(name, 0) + count
    types = sorted(total, key=lambda name: (-total[name], name))
    shares = {
        model: [entry["first"].get(name, 0) / max(entry["asked"], 1) for name in types]
        for model, entry in found["model_types"].items()
    }
    keyed = [(f"k{at}", LETTERS[at], name) for at, name in enumerate(types[:KINDS])]
    if len(types) > KINDS:
        keyed.append(("kx", "", f"{len(types) - KINDS:,} others"))
    rows = [
        (
            model,
            f"{entry['attempts']:,}",
            f"{entry['asked']:,}",
            ", ".join(
                f"{name} {percent(share)}"
                for name, share in sorted(
                    zip(types, shares[model], strict=True), key=lambda pair: -pair[1]
                )
                if share
            ),
        )
        for model, entry in found["model_types"].items()
    ]
    note = (
        "Attempts of the commonest model types, at most 25 each, asked about on each of "
        f"{len(found['candidates']):,} types with a cost and enough training rows: which would be "
        "ranked first by work per dollar."
    )
    picture = stacks(list(shares.items()), "Share of each hardware type ranked first by model type")
    header = ("model type", "attempts", "asked", "ranked first")
    return figure("Ranked first, by model type", note, picture, header, rows, key(keyed), "told")


def cascade(notes: Mapping[str, Any]) -> Iterable[str]:
    """What a cascade did with its bins; nothing for other estimators."""
    if "rounds" not in notes:
        return
    rounds = [
        (
            str(at),
            percent(told["moved"]),
            f"{told['loss_before']:.4f}",
            f"{told['loss_after']:.4f}",
        )
        for at, told in enumerate(notes["rounds"], 1)
    ]
    header = ("round", "moved", "mean error before", "after")
    yield card("Rows that moved to another expert", table(header, rounds))
    trees = dict(zip(notes["class_map"], notes["trees_per_expert"], strict=True))
    bins = [
        (str(at), f"{first:,}", f"{last:,}", f"{trees.get(at, 0):,}")
        for at, (first, last) in enumerate(
            zip(notes["first_rows_per_bin"], notes["rows_per_bin"], strict=True)
        )
    ]
    yield card("Bins", table(("bin", "rows at first", "rows at last", "trees"), bins))


def trial(found: Mapping[str, Any] | None) -> Iterable[str]:
    """How each contender did on the days held out, and which was chosen for what reason."""
    if found is None:
        return
    days = f"{found['days'][0]} to {found['days'][-1]}"
    rows = [
        (
            contender["name"],
            UNKNOWN if contender["w20"] is None else percent(contender["w20"]),
            _difference(contender, found["champion"]),
            f"{contender['seconds']:,.1f}",
        )
        for contender in found["contenders"]
    ]
    header = (days, "within 20 %", f"more than {found['champion']}, a day", "seconds")
    yield card("Tried on days that none was fitted on", quiet(found["why"]) + table(header, rows))


def _difference(contender: Mapping[str, Any], champion: str) -> str:
    difference = contender["difference"]
    if difference is None:
        return contender["reason"] or ("" if contender["name"] == champion else UNKNOWN)
    low, high = points(difference["low"]), points(difference["high"])
    return f"{points(difference['mean'])} ({low} to {high})"
