"""What leap doctor looks for is what the template makes."""

from cli.doctor.names import Names
from leap_model.parameters import store_parameter
from tests.infrastructure.templates import Template


def _named(template: Template, kind: str, name: str) -> set[str]:
    return {str(found["Properties"].get(name)) for found in template.resources(kind).values()}


def test_every_part_that_is_looked_for_is_there(template: Template) -> None:
    names = Names(template.stage)
    queues = {names.queue, names.dead_letters, names.nightly_dead_letters}
    assert _named(template, "AWS::SQS::Queue", "QueueName") == queues
    functions = _named(template, "AWS::Lambda::Function", "FunctionName")
    assert {names.ingest, names.rank} <= functions
    assert _named(template, "AWS::Scheduler::Schedule", "Name") == {names.schedule}
    assert _named(template, "AWS::SNS::Topic", "TopicName") == {names.alarm_topic}
    assert store_parameter(template.stage) in _named(template, "AWS::SSM::Parameter", "Name")
    assert {"BucketName", "RankUrl"} <= template.body["Outputs"].keys()


def test_every_alarm_is_the_stage_s_own_and_is_told_to_its_topic(template: Template) -> None:
    names = Names(template.stage)
    alarms = template.resources("AWS::CloudWatch::Alarm").values()
    assert alarms
    for alarm in alarms:
        assert alarm["Properties"]["AlarmName"].startswith(names.of() + "-")
        (action,) = template.plain(alarm["Properties"]["AlarmActions"])
        assert "Topic" in action


def test_the_nightly_task_is_told_its_store_and_stage(template: Template) -> None:
    (container,) = template.properties("AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    told = {entry["Name"] for entry in container["Environment"]}
    assert {"LEAP_STORE", "LEAP_STAGE"} <= told
