"""What a stage uses for one batch, one ranking and one night, measured on this machine."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, TypeVar

from bench.fleets import START, simulated
from cli.example import newest_attempt, request_of
from cli.readers import read_records
from cli.simulation import simulate
from functions.ingest.batch import take_batch
from functions.ingest.message import Message
from functions.ingest.telemetry import emit, summary
from functions.rank.handler import handler_of
from functions.rank.loading import Loading
from functions.rank.record import Record
from functions.rank.recorder import Recorder
from functions.rank.service import RankService
from functions.rank.telemetry import Telemetry
from functions.retrain.learning.network import ResidualNetwork
from functions.retrain.nightly import retrain
from functions.retrain.settings import Settings
from leap_model import Ranker
from leap_model.events import ATTEMPT, RANKING, SOURCE
from leap_model.store import LocalStore
from leap_model.times import start_of

_PER_DAY = 2_500
_RANKINGS = 200
_CALLED = Path(__file__).parents[1] / "tests" / "events" / "function_url_rank.json"
"""How Lambda calls the function, as captured."""
_LAMBDA_LINES = 350
"""Bytes that Lambda itself logs of an invocation: START, END and REPORT."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Batch:
    """One invocation of ingest. `puts` are objects written, `stored` bytes an attempt."""

    cpu_s: float
    puts: int
    stored: float
    logged: int


@dataclass(frozen=True, slots=True)
class Call:
    """One invocation of rank: processor seconds, bytes logged, answered, and recorded."""

    cpu_s: float
    logged: float
    answered: int
    recorded: int


@dataclass(frozen=True, slots=True)
class Night:
    """One nightly run: bytes of its artifact."""

    artifact: int


def batch_of(attempts: int) -> Batch:
    """A batch of so many attempts of one day."""
    with TemporaryDirectory(prefix="leap-bench-") as folder:
        fleet = simulate(Path(folder) / "fleet", days=1, per_day=attempts, seed=1, start=START)
        bodies = [_envelope(r.value) for r in read_records(fleet.files[0])]
        messages = [Message(f"m{at}", body, None) for at, body in enumerate(bodies)]
        store = LocalStore(Path(folder) / "store")
        take_batch(store, messages[:1], start_of(START + timedelta(days=1)))  # warms up
        before = set(store.keys("attempts"))

        def handle() -> None:
            outcome = take_batch(store, messages, start_of(START + timedelta(days=2)))
            print(json.dumps(summary(outcome)))
            emit("bench", outcome)

        _, spent, said = _measured(handle)
        written = [key for key in store.keys("attempts") if key not in before]
        size = sum(store.size(key) or 0 for key in written)
    return Batch(spent, len(written), size / attempts, len(said) + _LAMBDA_LINES)


_PRICED = Settings(estimator=ResidualNetwork(least_steps=200, most_steps=200))
"""What a ranking takes does not depend on how well the networks learned."""


def call_and_night() -> tuple[Call, Night]:
    """A ranking of 20 candidates over HTTP, by the default estimator of a night with a window of 30
    days."""
    with simulated(32, _PER_DAY) as (fleet, store):
        metrics = retrain(store, "local", START + timedelta(days=32), _PRICED)
        files = store.keys(f"models/throughput/{metrics['version']}")
        night = Night(sum(store.size(key) or 0 for key in files))
        request = request_of(newest_attempt(fleet.files[-1]), fleet.catalogue)
        request["candidates"] = request["candidates"][:20]
        return _call(store, request), night


def _call(store: LocalStore, request: dict[str, Any]) -> Call:
    ranker = Ranker.from_store(store.root)
    recorder = Recorder(len, share=0.0)
    service = RankService(Loading(lambda: ranker, 60.0), recorder, Telemetry("bench"))
    handle = handler_of(service)
    event = {**json.loads(_CALLED.read_text()), "body": json.dumps(request)}
    with _quiet():
        handle(event, None)  # loads the model

    def calls() -> dict[str, Any]:
        for _ in range(_RANKINGS):
            answer = handle(event, None)
        return answer

    answer, spent, said = _measured(calls)
    if not json.loads(answer["body"])["preference"]:
        raise RuntimeError(f"nothing was ranked: {answer['body']}")
    seen: list[Any] = []
    found = ranker.rank(request, observe=seen.append)
    record = Record(start_of(START), request, found, seen[0]).to_json()
    recorded = len(_envelope(json.loads(record), RANKING))
    logged = len(said) / _RANKINGS + _LAMBDA_LINES
    return Call(spent / _RANKINGS, logged, len(answer["body"]), recorded)


def _envelope(detail: Any, detail_type: str = ATTEMPT) -> bytes:
    """A message's body as the rule sends it."""
    event = {"version": "0", "source": SOURCE, "detail-type": detail_type, "detail": detail}
    return json.dumps(event).encode()


def _measured(what: Callable[[], T]) -> tuple[T, float, str]:
    """The result, processor seconds, and what was printed meanwhile."""
    with _quiet() as said:
        started = process_time()
        result = what()
        spent = process_time() - started
    return result, spent, said.getvalue()


@contextmanager
def _quiet() -> Iterator[io.StringIO]:
    with redirect_stdout(io.StringIO()) as said:
        yield said
