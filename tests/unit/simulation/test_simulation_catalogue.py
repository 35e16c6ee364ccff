"""The simulated catalogue keeps to the contract."""

from typing import Any

SPECIFICATIONS = {
    *("peak_fp16_tflops", "peak_fp32_tflops", "memory_gb", "memory_bandwidth_gb_s"),
    *("scale_up_gb_s", "network_gb_s", "accelerators_per_host", "process_node_nm"),
    *("l1_cache_kb", "l2_cache_mb", "tdp_w", "release_year"),
}
OTHERS = {"hardware_type", "vendor", "cost_per_hour", "premium", "aliases"}


def test_types_are_many_and_mixed(catalogue: list[dict[str, Any]]) -> None:
    assert len(catalogue) >= 22
    assert len({entry["vendor"] for entry in catalogue}) >= 4
    assert len({entry["release_year"] for entry in catalogue}) >= 5


def test_every_entry_has_its_columns(catalogue: list[dict[str, Any]]) -> None:
    for entry in catalogue:
        assert entry.keys() - {"premium_min_efficiency"} == SPECIFICATIONS | OTHERS
        assert entry["cost_per_hour"] > 0
        values = [entry[name] for name in SPECIFICATIONS]
        assert all(value is None or value > 0 for value in values)


def test_some_specifications_are_unknown(catalogue: list[dict[str, Any]]) -> None:
    assert any(entry[name] is None for entry in catalogue for name in SPECIFICATIONS)


def test_premium_types_say_how_well_they_must_be_used(catalogue: list[dict[str, Any]]) -> None:
    premium = [entry for entry in catalogue if entry["premium"]]
    assert 1 <= len(premium) <= 2
    assert all(0 < entry["premium_min_efficiency"] <= 1 for entry in premium)


def test_no_name_or_alias_is_used_twice(catalogue: list[dict[str, Any]]) -> None:
    names = [name for entry in catalogue for name in (entry["hardware_type"], *entry["aliases"])]
    assert len({name.strip().casefold() for name in names}) == len(names)
