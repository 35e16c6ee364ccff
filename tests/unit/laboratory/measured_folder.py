"""A folder of made-up measurements in the form of the measured ones."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HARDWARE = """hardware_type,vendor,peak_fp16_tflops,memory_gb,cost_per_accelerator_hour
fast,A,400,80,4
middle,A,200,40,1
slow,B,100,40,1
free,B,150,40,
"""
SPEED = {"fast": 400.0, "middle": 200.0, "slow": 100.0, "free": 150.0}
MODELS = {"bert": 2.0, "resnet": 30.0, "unet": 0.5}
DAYS = ("2024-05-02", "2024-06-20", "2024-07-30", "2024-08-03", "2024-09-10")
"""Three before the split, two after it."""


def attempts(file: str) -> Iterator[dict[str, Any]]:
    """Every model on every type with three host counts, two batches and a run each day; samples per
    second grow with hosts and peak. Every eighth is of another source, one in sixteen of lambda."""
    at = 0
    for model, constant in MODELS.items():
        for hardware, speed in SPEED.items():
            for hosts in (1, 2, 4):
                for batch in (16.0, 32.0):
                    for run, day in enumerate(DAYS):
                        at += 1
                        source = {8: "lambda", 0: "sia"}.get(at % 16, "mlperf")
                        name = f"{source}/{hardware}/{model}-{hosts}-{batch:g}"
                        yield {
                            "attempt_id": f"{file}/{name}/{at}",
                            "job_name": f"{name}/run_{run}",
                            "job_family": name,
                            "model_type": model,
                            "hardware_type": hardware,
                            "num_trainers": hosts,
                            "accelerators_per_host": 8,
                            "batch_size": batch,
                            "completed_at": f"{day}T{at % 24:02}:00:00Z",
                            "throughput": constant * speed * hosts * (1 + 0.01 * (at % 3)),
                            "config": {"image_size": 200 + at % 2},
                            "architecture": {"params_m": 10 * constant, "gmacs": 3.0},
                            "source": source,
                        }


def write_folder(root: Path) -> Path:
    """The folder, with both files and the catalogue."""
    root.mkdir()
    (root / "hardware.csv").write_text(HARDWARE, encoding="utf-8")
    for file in ("training", "inference"):
        lines = "".join(json.dumps(row) + "\n" for row in attempts(file))
        (root / f"{file}.jsonl.gz").write_bytes(gzip.compress(lines.encode(), mtime=0))
    return root
