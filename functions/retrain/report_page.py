"""A run's metrics as a page that opens in any browser, without anything from elsewhere."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; } th, td { padding: .2rem .8rem; text-align: right; }
th:first-child, td:first-child { text-align: left; } tr { border-bottom: 1px solid #8884; }
meter { width: 8rem; } .quiet { color: #777; }
"""
_MOST_ROWS = 50
"""Rows of one table; metrics.json has all."""


def render_report(metrics: Mapping[str, Any]) -> str:
    """The page of the metrics that `nightly.retrain` gives."""
    evaluation, window = metrics["evaluation"], metrics["window"]
    missing = len(window["missing_days"])
    pointed = (
        "the stage points at it" if metrics["pointed"] else f"not pointed: {metrics['reason']}"
    )
    facts = [
        ("estimator", metrics["estimator"]),
        ("trained on", f"{metrics['rows']:,} attempts, {window['from']} to {window['to']}"),
        ("days without attempts", f"{missing:,}"),
        ("judged on", f"{evaluation['attempts']:,} attempts of {evaluation['from']}"),
        ("published", pointed),
        ("the live model", _live(metrics["live"])),
        ("seconds", ", ".join(f"{name} {s:.1f}" for name, s in metrics["seconds"].items())),
        ("peak memory", f"{metrics['peak_memory_mb']:,.0f} MB"),
    ]
    accuracy = [
        ("within 20 %", evaluation["w20"]),
        ("within 15 %", evaluation["w15"]),
        ("within 10 %", evaluation["w10"]),
        ("within 5 %", evaluation["w5"]),
        ("within 20 %, by accelerator-hours", evaluation["w20_by_gpu_hours"]),
        ("within 20 %, families that never ran before", evaluation["cold"]["w20"]),
        ("within 20 %, families that ran before", evaluation["warm"]["w20"]),
        ("the most that any model could have within 20 %", evaluation["noise_ceiling_w20"]),
    ]
    error = f"median error {_percent(evaluation['mdape'])}"
    body = [
        f"<h1>LEAP {escape(metrics['target'])}, version {escape(metrics['version'])}</h1>",
        _table((), [(name, escape(str(value))) for name, value in facts]),
        f"<h2>Accuracy on the held-out day</h2><p>{error}</p>",
        _table((), [(name, _meter(value)) for name, value in accuracy]),
        *_groups("hardware type", evaluation["by_hardware"]),
        *_groups("model type", evaluation["by_model_type"]),
        *_groups("commonness of the model type", evaluation["by_model_rank"]),
        *_groups("power of ten of what was measured", evaluation["by_decade"]),
        *_cascade(metrics["learning"]),
        *_notes(metrics),
    ]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>LEAP '
        f"{escape(metrics['version'])}</title><style>{_STYLE}</style>{''.join(body)}</html>\n"
    )


def _live(live: Mapping[str, Any] | None) -> str:
    if live is None:
        return "there was none"
    if live["evaluation"] is None:
        return f"{live['version']}: not scored, {live['reason']}"
    within = _percent(live["evaluation"]["w20"])
    return f"{live['version']}: within 20 % {within} on the same attempts"


def _cascade(notes: Mapping[str, Any]) -> Iterable[str]:
    """What a cascade did with its bins; nothing for other estimators."""
    if "rounds" not in notes:
        return
    rounds = [
        (
            str(at),
            _percent(told["moved"]),
            f"{told['loss_before']:.4f}",
            f"{told['loss_after']:.4f}",
        )
        for at, told in enumerate(notes["rounds"], 1)
    ]
    yield "<h2>Rows that moved to another expert</h2>"
    yield _table(("round", "moved", "mean error before", "after"), rows=rounds)
    trees = dict(zip(notes["class_map"], notes["trees_per_expert"], strict=True))
    bins = [
        (str(at), f"{first:,}", f"{last:,}", f"{trees.get(at, 0):,}")
        for at, (first, last) in enumerate(
            zip(notes["first_rows_per_bin"], notes["rows_per_bin"], strict=True)
        )
    ]
    yield "<h2>Bins</h2>"
    yield _table(("bin", "rows at first", "rows at last", "trees"), bins)


def _groups(kind: str, groups: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    ordered = sorted(groups.items(), key=lambda item: (-item[1]["attempts"], item[0]))
    rows = [
        (escape(name), f"{group['attempts']:,}", _meter(group["w20"]))
        for name, group in ordered[:_MOST_ROWS]
    ]
    yield f"<h2>By {kind}</h2>"
    yield _table((kind, "attempts", "within 20 %"), rows)
    if len(ordered) > _MOST_ROWS:
        yield f'<p class="quiet">and {len(ordered) - _MOST_ROWS:,} more in metrics.json</p>'


def _notes(metrics: Mapping[str, Any]) -> Iterable[str]:
    notes = [
        f"{count:,} attempts ran on {name}, unknown to the catalogue"
        for name, count in metrics["unknown_hardware"].items()
    ]
    notes += [f"left out {key}: it is no attempt file" for key in metrics["skipped_objects"]]
    if notes:
        yield "<h2>Noticed</h2><ul>" + "".join(f"<li>{escape(n)}</li>" for n in notes) + "</ul>"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines = ("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{f'<tr>{head}</tr>' if head else ''}{''.join(lines)}</table>"


def _meter(share: float | None) -> str:
    if share is None:
        return '<span class="quiet">unknown</span>'
    return f'<meter value="{share:.3f}"></meter> {_percent(share)}'


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share * 100:.1f} %"
