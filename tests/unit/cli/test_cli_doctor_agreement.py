"""Names, limits and sentences that leap doctor has in common with what it looks at."""

from cli.doctor import nights, rules
from cli.doctor.names import Names
from functions.retrain.pointing import why_not
from infra import settings as limits
from infra.settings import Settings

NAMES = Names("prod")


def test_the_stage_is_called_as_it_is_deployed() -> None:
    settings = Settings.of_context({"stage": "prod"}.get)
    assert NAMES.stack == settings.name()
    assert NAMES.of("anything") == settings.name("anything")


def test_a_model_is_old_when_the_alarm_says_so() -> None:
    assert rules.MOST_MODEL_AGE_H == limits.MOST_MODEL_AGE_H


def test_a_test_run_says_of_itself_what_is_looked_for() -> None:
    said = why_not({"attempts": 1}, None, margin=0.03, test_run=True, force=False)
    assert said == nights.TEST_RUN


def test_a_backlog_is_more_than_a_batch_may_hold() -> None:
    assert rules.MOST_WAITING == limits.INGEST_BATCH
