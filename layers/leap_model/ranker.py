"""The ranker that launchers, the CLI and the rank function share. It never raises."""

import logging
from pathlib import Path
from typing import Any, Protocol, Self

from leap_model import limits
from leap_model.answer import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    MODEL_UNAVAILABLE,
    NO_CANDIDATES,
    SWITCHED_OFF,
    answer,
)
from leap_model.errors import ArtifactError, FieldError, ModelUnavailableError
from leap_model.ranking import Observer, rank_with
from leap_model.request import parse_request
from leap_model.source import Serving, StageSource
from leap_model.stores import open_store

_log = logging.getLogger(__name__)


class Source(Protocol):
    """Where a ranker gets its models, such as a `StageSource`."""

    failures: int

    def current(self) -> Serving:
        """What serves now; raises ModelUnavailableError where nothing can."""


class Ranker:
    """Answers ranking requests from the model that a stage points at.

    Attributes
    ----------
    serving : Serving or None
        What the latest ranking that came to a model was made with.
    """

    def __init__(self, source: Source, *, premium_filter: bool = True) -> None:
        self.serving: Serving | None = None
        self._source = source
        self._premium_filter = premium_filter

    @property
    def load_failures(self) -> int:
        """How often a model could not be loaded or looked for so far."""
        return self._source.failures

    @classmethod
    def from_store(
        cls,
        root: Path | str,
        stage: str = "local",
        *,
        switched: bool | None = None,
        premium_filter: bool = True,
        cache_s: float = limits.POINTER_CACHE_S,
    ) -> Self:
        """A ranker over a store in a folder, or at s3://BUCKET/PREFIX.

        Parameters
        ----------
        root : Path or str
            The store's root.
        stage : str
            Whose pointer to follow.
        switched : bool, optional
            Whether the stage's switches apply; by default to every stage but `local`.
        premium_filter : bool
            Whether premium types that the job would not use well enough are left out.
        cache_s : float
            Seconds for which pointer and switches are not read again.
        """
        if switched is None:
            switched = stage != "local"
        source = StageSource(open_store(root), stage, switched=switched, cache_s=cache_s)
        return cls(source, premium_filter=premium_filter)

    @classmethod
    def from_aws(
        cls,
        stage: str,
        *,
        store_uri: str | None = None,
        premium_filter: bool = True,
        cache_s: float = limits.POINTER_CACHE_S,
    ) -> Self:
        """A ranker of a deployed stage: pointer in SSM and S3, artifact and switches in S3.

        Every call to AWS has a budget of about a second; the artifact is fetched when the pointer
        names another, and the last good one serves on while AWS does not answer.

        Parameters
        ----------
        stage : str
            Whose pointer and switches to follow.
        store_uri : str, optional
            s3://BUCKET/PREFIX; by default what the stage's own parameter says.
        premium_filter, cache_s : bool, float
            As for `from_store`.

        Raises
        ------
        LeapError
            The stage does not say where its store is. `rank` itself never raises.
        """
        # Here, since a ranker of a folder needs no client of AWS.
        from leap_model.aws import HURRIED, client, session
        from leap_model.parameters import Parameters, deployed_pointer, store_parameter
        from leap_model.s3 import S3Store

        shared = session()
        parameters = Parameters(client("ssm", HURRIED, shared))
        uri = store_uri or parameters.read(store_parameter(stage))
        if uri is None:
            raise ModelUnavailableError(f"the stage {stage} is not deployed here")
        source = StageSource(
            S3Store.of_uri(uri, client("s3", HURRIED, shared)),
            stage,
            switched=True,
            cache_s=cache_s,
            pointer_of=lambda target: deployed_pointer(parameters, stage, target),
        )
        return cls(source, premium_filter=premium_filter)

    def rank(self, request: Any, observe: Observer | None = None) -> dict[str, Any]:
        """The answer of contract section 4; whatever fails, its preference is empty.

        Parameters
        ----------
        request : dict
            Job, candidates, and optionally launched_at and allow_untrained.
        observe : callable, optional
            Is given the feature rows before the answer is made.
        """
        try:
            return self._rank(request, observe)
        except FieldError as fault:
            return answer(reason=INVALID_REQUEST, detail=str(fault))
        except (ModelUnavailableError, ArtifactError) as fault:
            # The latter where a file turns out to be altered when it is first needed.
            return answer(reason=MODEL_UNAVAILABLE, detail=str(fault))
        except Exception as fault:
            # The type only: the text of an unexpected fault may quote the request.
            _log.error("ranking failed: %s", type(fault).__name__)
            return answer(reason=INTERNAL_ERROR)

    def _rank(self, request: Any, observe: Observer | None) -> dict[str, Any]:
        parsed = parse_request(request)
        if not parsed.candidates:
            return answer(reason=NO_CANDIDATES)
        serving = self.serving = self._source.current()
        if not serving.switches.is_on(parsed.job.model_type, parsed.job.family):
            return answer(models=serving.versions(), reason=SWITCHED_OFF)
        return rank_with(serving, parsed, premium_filter=self._premium_filter, observe=observe)
