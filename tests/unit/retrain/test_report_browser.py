"""Pages in a real browser: nothing wider than a phone, nothing complained of, all of it printed."""

import copy
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from functions.retrain.backtest import Plan, backtest
from functions.retrain.report.backtest_page import backtest_page
from functions.retrain.report.nightly_page import nightly_page
from tests.support import filled, fleet
from tests.unit.retrain.nights import TINY, night

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--enable-logging=stderr"),
)
WIDTHS = (320, 360, 768, 1280)
MEASURE = """
const told = [];
for (const frame of document.querySelectorAll("iframe")) {
  const page = frame.contentDocument, root = page.documentElement;
  page.querySelectorAll("details").forEach(part => part.open = true);
  const outside = [...page.querySelectorAll("body *")].filter(part =>
    !part.closest(".wide") && part.getBoundingClientRect().right > frame.clientWidth + 1);
  const letters = [...page.querySelectorAll("svg text")].map(part => {
    const own = part.getBoundingClientRect(), all = part.ownerSVGElement.getBoundingClientRect();
    return {said: part.textContent, height: own.height,
            cut: own.left < all.left - 3 || own.right > all.right + 3};
  });
  told.push({width: frame.clientWidth, scroll: root.scrollWidth,
    outside: outside.map(part => part.tagName + " " + part.textContent.slice(0, 40)),
    cut: letters.filter(part => part.cut).map(part => part.said),
    least: Math.min(...letters.map(part => part.height)),
    tables: page.querySelectorAll("details table").length});
}
document.body.innerHTML = "<p id=told></p>";
document.getElementById("told").textContent = "<<" + JSON.stringify(told) + ">>";
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A nightly page, one of long names, and one of a backtest."""
    store = filled(tmp_path_factory.mktemp("browser"), fleet(320))
    metrics = night(store)
    long = copy.deepcopy(metrics)
    evaluation = long["evaluation"]
    for part in ("by_hardware", "by_model_type"):
        evaluation[part] = {
            f"{at} {'W' * 250}": e for at, e in enumerate(evaluation[part].values())
        }
    long |= {"version": "v" * 200, "estimator": "e" * 300, "reason": "r" * 500, "pointed": False}
    result = backtest(store, TINY, Plan(nights=3, compare=("family-median", "lookup-table")))
    return {
        "nightly": nightly_page(metrics),
        "long": nightly_page(long),
        "backtest": backtest_page(result),
    }


def _browse(folder: Path, page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM is not None
    command = [CHROMIUM, *QUIET, f"--user-data-dir={folder / 'profile'}", *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)


@pytest.mark.parametrize("name", ["nightly", "long", "backtest"])
def test_no_page_is_wider_than_its_window(pages: dict[str, str], name: str, tmp_path: Path) -> None:
    frames = "".join(
        f'<iframe style="border:0;width:{width}px;height:900px"></iframe>' for width in WIDTHS
    )
    fill = (
        f'document.querySelectorAll("iframe").forEach(f => f.srcdoc = {json.dumps(pages[name])});'
    )
    fill = fill.replace("</", "<\\/").replace("<!--", "<\\!--")
    wrapper = tmp_path / "wrapper.html"
    wrapper.write_text(
        f'<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><body>{frames}'
        f"<script>{fill}\nsetTimeout(() => {{{MEASURE}}}, 1500)</script>",
        encoding="utf-8",
    )
    done = _browse(tmp_path, wrapper, "--dump-dom", "--virtual-time-budget=4000")
    assert "CONSOLE" not in done.stderr
    found = re.search("&lt;&lt;(.*)&gt;&gt;", done.stdout, re.DOTALL)
    assert found, done.stdout[-500:]
    told: list[Any] = json.loads(
        found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    )
    assert [frame["width"] for frame in told] == list(WIDTHS)
    for frame in told:
        assert frame["scroll"] <= frame["width"]
        assert frame["outside"] == []
        assert frame["cut"] == []
        assert frame["least"] > (7 if frame["width"] < 360 else 9)
        assert frame["tables"] > 3


def test_a_printed_page_has_its_tables(pages: dict[str, str], tmp_path: Path) -> None:
    page, pdf = tmp_path / "page.html", tmp_path / "page.pdf"
    sizes = []
    for text in (pages["nightly"], re.sub("<details>.*?</details>", "", pages["nightly"])):
        page.write_text(text, encoding="utf-8")
        done = _browse(tmp_path, page, f"--print-to-pdf={pdf}", "--no-pdf-header-footer")
        assert "CONSOLE" not in done.stderr
        sizes.append(pdf.stat().st_size)
    assert sizes[0] > 1.1 * sizes[1]
