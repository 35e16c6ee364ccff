"""Premium types stay in a preference only if the job is predicted to use them efficiently."""

from collections.abc import Sequence
from math import inf, isnan, nan

from leap_model.columns import Floats
from leap_model.request import Candidate


def underused(
    candidates: Sequence[Candidate],
    throughput: Floats,
    samples_per_dollar: Floats,
    utilization: Floats,
) -> list[str | None]:
    """For each candidate on a premium type that the job would not use well enough, why so.

    What must reach the type's `premium_min_efficiency` (contract section 4) is the predicted
    utilization, or where that is unknown (NaN) the relative efficiency.
    """
    reasons: list[str | None] = [None] * len(candidates)
    premium = [at for at, candidate in enumerate(candidates) if candidate.hardware.premium]
    if not premium:
        return reasons
    plain = [at for at, candidate in enumerate(candidates) if not candidate.hardware.premium]
    scores, rates, used = samples_per_dollar.tolist(), throughput.tolist(), utilization.tolist()
    best = min(plain, key=lambda at: (-scores[at], candidates[at].id), default=None)
    # Where there is nothing to compare with, NaN, which is below nothing.
    rate, peak = (nan, nan) if best is None else (rates[best], _peak(candidates[best]))
    for at in premium:
        rule, efficiency = "predicted utilization", used[at]
        if isnan(efficiency):
            rule = "relative efficiency"
            efficiency = _relative(rates[at], _peak(candidates[at]), rate, peak)
        least = candidates[at].hardware.premium_min_efficiency
        if efficiency < least:
            reasons[at] = f"its {rule} is {efficiency:.2g}; a premium type needs {least:.2g}"
    return reasons


def _relative(rate: float, peak: float, others_rate: float, others_peak: float) -> float:
    """Throughput over that on the non-premium candidate with the most samples per dollar, over the
    ratio of their peak 16-bit rates × accelerators × hosts; NaN where a peak is unknown."""
    return _quotient(_quotient(rate, others_rate), _quotient(peak, others_peak))


def _quotient(numerator: float, denominator: float) -> float:
    """As numpy has it: infinite over 0, and NaN where that says nothing."""
    if denominator:
        return numerator / denominator
    return inf if numerator > 0 else nan


def _peak(candidate: Candidate) -> float:
    """16-bit tera-operations per second of the whole job, NaN where unknown."""
    known = candidate.hardware.specifications
    accelerators = candidate.accelerators_per_host or known.get("accelerators_per_host", nan)
    peak = known.get("peak_fp16_tflops", nan) * accelerators * candidate.num_trainers
    return peak if peak > 0 else nan
