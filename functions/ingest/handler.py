"""The Lambda function behind the queue: parse, store, answer."""

import os
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from functions.ingest.batch import take_batch
from functions.ingest.environment import Environment
from functions.ingest.message import messages_of
from functions.ingest.telemetry import emit, summary
from functions.ingest.timed_store import BUDGET, TimedStore
from leap_model.aws import client
from leap_model.errors import LeapError
from leap_model.times import now_us

logger = Logger(service="ingest")
environment = Environment.of(os.environ)
store = TimedStore.of_uri(environment.store_uri, client("s3", BUDGET))


class IngestError(LeapError):
    """A fault of ours. It carries no text of what was being handled."""


@logger.inject_lambda_context(log_event=False)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Store a batch of messages.

    Parameters
    ----------
    event : dict
        What SQS invokes a function with: `Records`, each with `messageId` and `body`.
    context : LambdaContext
        Lambda's own; bounds the time.

    Returns
    -------
    dict
        `batchItemFailures`: the messages that could not be stored, which SQS delivers again.
        Malformed ones are not among them.

    Raises
    ------
    NoMessagesError
        Something else than a queue invoked the function.
    IngestError
        A fault of ours: SQS delivers the whole batch again.
    """
    messages = messages_of(event)
    store.allow(context.get_remaining_time_in_millis() / 1000)
    try:
        outcome = take_batch(store, messages, now_us())
    except Exception as fault:
        # Its text may be a sender's; Lambda would log it.
        raise IngestError(f"{type(fault).__name__} while a batch was stored") from None
    for part in outcome.unstored:
        logger.warning("not stored", extra={"fault": str(part.fault), "records": len(part.origins)})
    logger.info("batch stored", extra=summary(outcome))
    emit(environment.stage, outcome)
    return {"batchItemFailures": [{"itemIdentifier": id_} for id_ in outcome.failed()]}
