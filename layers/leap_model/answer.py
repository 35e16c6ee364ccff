"""What a ranking answer is: always every key of contract section 4."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

NO_CANDIDATES: Final = "no_candidates"
INVALID_REQUEST: Final = "invalid_request"
MISSING_FEATURE: Final = "missing_feature"
MODEL_UNAVAILABLE: Final = "model_unavailable"
SWITCHED_OFF: Final = "switched_off"
ALL_EXCLUDED: Final = "all_excluded"
INTERNAL_ERROR: Final = "internal_error"


def answer(
    *,
    preference: Sequence[Mapping[str, Any]] = (),
    excluded: Sequence[Mapping[str, Any]] = (),
    models: Mapping[str, str] | None = None,
    reason: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The answer; `more` adds keys such as `detail`.

    `models` names the version used for each target; `model_version` is that of throughput.
    """
    models = dict(models or {})
    return {
        "preference": list(preference),
        "excluded": list(excluded),
        "ranking_id": os.urandom(16).hex(),
        "model_version": models.get("throughput"),
        "models": models,
        "reason": reason,
        **more,
    }
