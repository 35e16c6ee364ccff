"""One ranking from request to answer, recorded and counted; knows nothing of HTTP."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from functions.rank.bus import Bus
from functions.rank.deadline import within
from functions.rank.loading import Loading
from functions.rank.record import Record
from functions.rank.recorder import Recorder
from functions.rank.settings import Settings
from functions.rank.telemetry import Telemetry, logger
from leap_model import Ranker, limits
from leap_model.answer import INTERNAL_ERROR, INVALID_REQUEST, MODEL_UNAVAILABLE, answer
from leap_model.errors import FieldError
from leap_model.ranking import FeatureRows
from leap_model.times import now_us


class RankService:
    """Answers with a ranker; never raises, and never with anything but strict JSON."""

    def __init__(self, loading: Loading, recorder: Recorder, telemetry: Telemetry) -> None:
        self._loading = loading
        self._recorder = recorder
        self._telemetry = telemetry

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "RankService":
        """The service that an environment describes; a wrong one has no model, and says why."""
        try:
            settings = Settings.of(environment)
        except FieldError as fault:
            return cls(*_without_model(fault))

        def make() -> Ranker:
            return Ranker.from_aws(
                settings.stage, store_uri=settings.store, cache_s=settings.cache_s
            )

        recorder = Recorder(Bus(settings.bus).send, settings.sample if settings.bus else 0.0)
        return cls(Loading(make, settings.cache_s), recorder, Telemetry(settings.stage))

    def rank(self, request: Any, seconds: float | None = None) -> dict[str, Any]:
        """The answer to a request, within so many seconds."""
        seen: list[FeatureRows] = []
        try:
            found = within(
                seconds, lambda: self._loading.ranker().rank(request, observe=seen.append)
            )
            json.dumps(found, allow_nan=False)
        except TimeoutError:
            logger.warning("no answer in time")
            found = answer(reason=MODEL_UNAVAILABLE, detail="the model did not load in time")
        except Exception as fault:
            logger.error("ranking failed: %s", type(fault).__name__)
            found = answer(reason=INTERNAL_ERROR)
        if found["reason"] != INVALID_REQUEST:
            record = Record(now_us(), request, found, seen[0] if seen else None)
            _aside(lambda: self._recorder.offer(record))
        return self._counted(found)

    def refuse(self, detail: str) -> dict[str, Any]:
        """The answer to what is no request at all."""
        return self._counted(answer(reason=INVALID_REQUEST, detail=detail))

    def flush(self) -> None:
        """Print the metrics of an invocation."""
        _aside(self._notice)
        _aside(self._telemetry.flush)

    def _notice(self) -> None:
        self._telemetry.noticed(self._loading.failures, self._recorder.take_dropped())

    def _counted(self, found: dict[str, Any]) -> dict[str, Any]:
        _aside(lambda: self._telemetry.ranked(found, self._loading.serving))
        return found


def _aside(what: Callable[[], None]) -> None:
    """Do what must not cost an answer."""
    try:
        what()
    except Exception as fault:
        logger.error("not recorded or counted: %s", type(fault).__name__)


def _without_model(fault: FieldError) -> tuple[Loading, Recorder, Telemetry]:
    def make() -> Ranker:
        raise fault

    recorder = Recorder(len, share=0.0)
    return Loading(make, limits.POINTER_CACHE_S), recorder, Telemetry("unknown")
