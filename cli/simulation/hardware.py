"""The catalogue of the simulated fleet, as arrays."""

import json
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from cli.simulation.arrays import Floats, Ints

# What the machine really does where its data sheet is silent.
_UNPUBLISHED = {"scale_up_gb_s": 28.0, "network_gb_s": 12.5}
_FP32_SHARE_WHERE_UNPUBLISHED = 0.25


@dataclass(frozen=True)
class Hardware:
    """Every hardware type of the fleet, one element a type.

    Attributes
    ----------
    names, vendors : tuple of str
        Type name and vendor, length H.
    vendor : int array (H,)
        Index into the sorted distinct vendors, `vendor_names`.
    peak_fp16, peak_fp32 : float array (H,)
        Dense peak in TFLOP/s of one accelerator.
    memory_gb, memory_bandwidth, scale_up : float array (H,)
        GB, GB/s and GB/s of one accelerator.
    network : float array (H,)
        GB/s of one host.
    accelerators, release_year, cost_per_hour : float array (H,)
        Of one host; the cost in US dollars.
    """

    names: tuple[str, ...]
    vendors: tuple[str, ...]
    vendor_names: tuple[str, ...]
    vendor: Ints
    peak_fp16: Floats
    peak_fp32: Floats
    memory_gb: Floats
    memory_bandwidth: Floats
    scale_up: Floats
    network: Floats
    accelerators: Floats
    release_year: Floats
    cost_per_hour: Floats

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Position of the type called `name`; ValueError where there is none."""
        return self.names.index(name)


def catalogue_text() -> str:
    """The catalogue as published to users: the JSON text of hardware.json."""
    return files("cli.simulation").joinpath("hardware.json").read_text(encoding="utf-8")


def load_hardware() -> Hardware:
    """Read the packaged catalogue, with the values its data sheets leave out filled in."""
    entries = json.loads(catalogue_text())["hardware_types"]

    def column(name: str) -> Floats:
        default = _UNPUBLISHED.get(name, np.nan)
        values = [default if entry[name] is None else entry[name] for entry in entries]
        return np.array(values, dtype=np.float64)

    vendors = tuple(entry["vendor"] for entry in entries)
    vendor_names = tuple(sorted(set(vendors)))
    fp16, fp32 = column("peak_fp16_tflops"), column("peak_fp32_tflops")
    return Hardware(
        names=tuple(entry["hardware_type"] for entry in entries),
        vendors=vendors,
        vendor_names=vendor_names,
        vendor=np.array([vendor_names.index(vendor) for vendor in vendors]),
        peak_fp16=fp16,
        peak_fp32=np.where(np.isnan(fp32), fp16 * _FP32_SHARE_WHERE_UNPUBLISHED, fp32),
        memory_gb=column("memory_gb"),
        memory_bandwidth=column("memory_bandwidth_gb_s"),
        scale_up=column("scale_up_gb_s"),
        network=column("network_gb_s"),
        accelerators=column("accelerators_per_host"),
        release_year=column("release_year"),
        cost_per_hour=column("cost_per_hour"),
    )
