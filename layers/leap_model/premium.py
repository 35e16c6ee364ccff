"""Premium types stay in a preference only if the job is predicted to use them efficiently."""

from collections.abc import Sequence

import numpy as np

from leap_model.columns import Floats
from leap_model.request import Candidate


def underused(
    candidates: Sequence[Candidate], throughput: Floats, samples_per_dollar: Floats
) -> list[bool]:
    """Whether each candidate is a premium type that the job would not use well enough.

    Relative efficiency (contract section 4): throughput on the premium type over that on the
    non-premium candidate with the most samples per dollar, over the ratio of their peak 16-bit
    rates × accelerators × hosts. With nothing to compare with, or a peak unknown, a type stays.
    """
    plain = [at for at, candidate in enumerate(candidates) if not candidate.hardware.premium]
    if not plain:
        return [False] * len(candidates)
    best = min(plain, key=lambda at: (-samples_per_dollar[at], candidates[at].id))
    peaks = np.array([_peak(candidate) for candidate in candidates])
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        efficiency = (throughput / throughput[best]) / (peaks / peaks[best])
    return [
        bool(candidate.hardware.premium and value < candidate.hardware.premium_min_efficiency)
        for candidate, value in zip(candidates, efficiency, strict=True)
    ]


def _peak(candidate: Candidate) -> float:
    """16-bit tera-operations per second of the whole job, NaN where unknown: NaN < x is false."""
    known = candidate.hardware.specifications
    accelerators = candidate.accelerators_per_host or known.get("accelerators_per_host", np.nan)
    peak = known.get("peak_fp16_tflops", np.nan) * accelerators * candidate.num_trainers
    return peak if peak > 0 else np.nan
