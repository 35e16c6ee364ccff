"""Which candidates of a request a model may speak about."""

from collections.abc import Sequence

from leap_model import limits
from leap_model.artifact import Artifact
from leap_model.request import Candidate, Excluded, Request, parse_candidate


def admitted(artifact: Artifact, request: Request) -> tuple[list[Candidate], list[Excluded]]:
    """Candidates fit to be ranked, and the others with their reasons, in the request's order."""
    fit: dict[str, Candidate] = {}
    excluded: list[Excluded] = []
    seen: set[str] = set()
    for value in request.candidates:
        parsed = parse_candidate(value, request.job, artifact.catalogue)
        if parsed.id is not None and parsed.id in seen:
            name = parsed.hardware.hardware_type if isinstance(parsed, Candidate) else None
            excluded.append(Excluded(parsed.id, name or parsed.id, "duplicate"))
            continue
        if parsed.id is not None:
            seen.add(parsed.id)
        if isinstance(parsed, Excluded):
            excluded.append(parsed)
        elif parsed.hardware.hardware_type in artifact.trained or request.allow_untrained:
            fit[parsed.id] = parsed
        else:
            name = parsed.hardware.hardware_type
            excluded.append(Excluded(parsed.id, name, "untrained_hardware"))
    return list(fit.values()), excluded


def lacks_features(artifact: Artifact, request: Request, candidates: Sequence[Candidate]) -> bool:
    """Whether the request leaves out too much of what training nearly always had.

    An entry counts as there if the job or any candidate has it.
    """
    config, architecture = artifact.schema.required_entries
    missing = len(architecture - request.job.architecture.keys())
    lacked = [name for name in config if request.job.config.get(name) is None]
    if lacked:  # most candidates have the job's own object
        others = {id(candidate.config): candidate.config for candidate in candidates}.values()
        missing += sum(all(own.get(name) is None for own in others) for name in lacked)
    return missing > limits.MOST_MISSING * (len(config) + len(architecture))
