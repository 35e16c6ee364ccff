"""Names that the template and the code that it deploys must both have, though neither imports."""

import re
from typing import Any

import pytest

from functions.ingest.environment import Environment as IngestEnvironment
from functions.rank.settings import Settings as RankSettings
from functions.retrain.environment import Environment as RetrainEnvironment
from infra import kernel
from infra import settings as limits
from infra.settings import Settings
from leap_model import engine
from leap_model.limits import CLIENT_TIMEOUT_S, POINTER_CACHE_S
from leap_model.parameters import pointer_parameter, store_parameter
from leap_model.s3 import SUPERSEDED
from leap_model.targets import TARGETS
from tests.infrastructure.templates import Template

SETTINGS = Settings.of_context({"stage": "prod"}.get)


def variables(template: Template, found: dict[str, Any]) -> dict[str, str]:
    """A function's environment, once CloudFormation has put names in place of references."""
    plain = template.plain(found).items()
    return {name: re.sub(r"<\w+>", "leap-names", value) for name, value in plain}


def of_function(template: Template, name: str) -> dict[str, str]:
    """What a Lambda function is told."""
    function = template.properties("AWS::Lambda::Function", name)
    return variables(template, function["Environment"]["Variables"])


def test_the_ingest_function_understands_what_it_is_told(template: Template) -> None:
    told = IngestEnvironment.of(of_function(template, "Ingest"))
    assert (told.store_uri, told.stage) == ("s3://leap-names", template.stage)


def test_the_rank_function_understands_what_it_is_told(template: Template) -> None:
    told = RankSettings.of(of_function(template, "Rank"))
    assert (told.store, told.stage) == ("s3://leap-names", template.stage)
    assert (told.cache_s, told.bus, told.sample) == (POINTER_CACHE_S, "leap-names", 0.05)


def test_the_nightly_run_understands_what_it_is_told(template: Template) -> None:
    (container,) = template.properties("AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    found = {entry["Name"]: entry["Value"] for entry in container["Environment"]}
    scheduled = {"LEAP_SCHEDULED_TIME": "2026-01-13T02:00:00Z"}
    told = RetrainEnvironment.of(variables(template, found) | scheduled)
    assert (told.store_uri, told.stage) == ("s3://leap-names", template.stage)
    assert [target.name for target in told.targets] == list(limits.TRAINED_TARGETS)
    assert not told.test_run


def test_targets_and_their_parameters_have_one_name() -> None:
    assert set(limits.TARGETS) == set(TARGETS)
    assert set(SETTINGS.pointers()) == {pointer_parameter("prod", name) for name in TARGETS}
    assert SETTINGS.store_parameter == store_parameter("prod")


def test_the_kernel_is_put_where_the_library_looks_for_it() -> None:
    for processor in ("aarch64", "x86_64"):
        name = engine.library_name("Linux", processor)
        assert kernel.FOLDER / kernel.library_name("Linux", processor) == engine.FOLDER / name
    assert kernel.SOURCE == engine.SOURCE


def test_what_retrain_tags_is_what_the_lifecycle_expires() -> None:
    assert {SUPERSEDED: "true"} == limits.SUPERSEDED_TAG


def test_a_ranking_is_slow_from_where_a_launcher_no_longer_waits() -> None:
    assert limits.MOST_P99_MS == CLIENT_TIMEOUT_S * 1000


@pytest.mark.parametrize("name", ["ingest", "rank"])
def test_the_metrics_namespace_and_service_are_the_functions_own(
    template: Template, name: str
) -> None:
    told = of_function(template, name.title())
    assert told["POWERTOOLS_METRICS_NAMESPACE"] == limits.METRICS
    assert told["POWERTOOLS_SERVICE_NAME"] == name
