"""The nightly run: when it starts, on what, and what it can reach."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.infrastructure.templates import Template, synthesised

BOOTSTRAP = Path(__file__).parents[2] / "infra" / "assets" / "bootstrap.py"


def container(template: Template) -> dict[str, Any]:
    """The task's only container."""
    (found,) = template.properties("AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    plain: dict[str, Any] = template.plain(found)
    return plain


def schedule(template: Template) -> dict[str, Any]:
    """What starts it."""
    plain: dict[str, Any] = template.plain(template.properties("AWS::Scheduler::Schedule"))
    return plain


def test_a_stage_may_try_other_estimators(tmp_path: Path) -> None:
    def told(folder: str, **context: str) -> dict[str, str]:
        found = container(synthesised(tmp_path / folder, **context))["Environment"]
        return {entry["Name"]: entry["Value"] for entry in found}

    assert "LEAP_ESTIMATOR" not in told("usual")
    assert told("other", estimators="single,cascade")["LEAP_ESTIMATOR"] == "single,cascade"


def test_a_stage_may_have_a_larger_task(tmp_path: Path) -> None:
    found = synthesised(tmp_path, task="16x120").properties("AWS::ECS::TaskDefinition")
    assert (found["Cpu"], found["Memory"]) == ("16384", "122880")


@pytest.mark.parametrize(
    ("host", "reached"),
    [
        ("10.1.0.9", {"CidrIp": "10.1.0.9/32"}),
        ("[2001:db8::9]", {"CidrIpv6": "2001:db8::9/128"}),
        ("scheduler.example.internal", {"CidrIp": "0.0.0.0/0"}),
    ],
)
def test_a_stage_may_fit_on_a_dask_cluster_and_reaches_nothing_else_of_it(
    tmp_path: Path, host: str, reached: dict[str, str]
) -> None:
    address = f"tls://{host}:8786"
    template = synthesised(tmp_path, scheduler=address)
    told = {entry["Name"]: entry["Value"] for entry in container(template)["Environment"]}
    assert told["LEAP_SCHEDULER"] == address
    group = template.properties("AWS::EC2::SecurityGroup")
    aws, cluster = group["SecurityGroupEgress"]
    assert aws["ToPort"] == 443
    ports = {"IpProtocol": "tcp", "FromPort": 8786, "ToPort": 8786}
    assert cluster == {**ports, **reached, "Description": "The Dask cluster"}
    assert "SecurityGroupIngress" not in group


def test_a_stage_may_train_on_fewer_days(tmp_path: Path) -> None:
    template = synthesised(tmp_path, window_days=3, history_days=20)
    told = {entry["Name"]: entry["Value"] for entry in container(template)["Environment"]}
    assert (told["LEAP_WINDOW_DAYS"], told["LEAP_HISTORY_DAYS"]) == ("3", "20")


def test_a_night_begins_at_two_in_utc(template: Template) -> None:
    found = schedule(template)
    assert found["Name"] == f"leap-{template.stage}-nightly"
    assert found["ScheduleExpression"] == "cron(0 2 * * ? *)"
    assert found["ScheduleExpressionTimezone"] == "UTC"
    assert found["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert found.get("State", "ENABLED") == "ENABLED"


def test_a_night_is_tried_a_few_times_within_the_hour_and_then_given_up_to_a_queue(
    template: Template,
) -> None:
    target = schedule(template)["Target"]
    # Scheduler's own default is 185 times in a day: several runs of one night.
    assert target["RetryPolicy"] == {
        "MaximumEventAgeInSeconds": 3600,
        "MaximumRetryAttempts": 2,
    }
    assert target["DeadLetterConfig"] == {"Arn": "<RetrainDeadLetters.Arn>"}


def test_the_run_is_told_its_scheduled_time_whenever_it_starts(template: Template) -> None:
    told = json.loads(schedule(template)["Target"]["Input"])
    variable = {"name": "LEAP_SCHEDULED_TIME", "value": "<aws.scheduler.scheduled-time>"}
    assert told == {"containerOverrides": [{"name": "retrain", "environment": [variable]}]}


def test_the_schedule_starts_one_fargate_task_in_the_stages_cluster(template: Template) -> None:
    target = schedule(template)["Target"]
    assert target["Arn"] == "<RetrainCluster.Arn>"
    assert target["RoleArn"] == "<RetrainScheduleRole.Arn>"
    parameters = target["EcsParameters"]
    assert parameters["LaunchType"] == "FARGATE"
    assert parameters["TaskCount"] == 1
    assert parameters["TaskDefinitionArn"] == "<RetrainTask>"
    network = parameters["NetworkConfiguration"]["AwsvpcConfiguration"]
    assert network["AssignPublicIp"] == "ENABLED"
    assert network["SecurityGroups"] == ["<RetrainNetworkOutwards.GroupId>"]
    assert len(network["Subnets"]) == 2


def test_the_task_runs_on_a_public_image_that_cannot_change(template: Template) -> None:
    image = container(template)["Image"]
    assert re.fullmatch(r"public\.ecr\.aws/docker/library/python@sha256:[0-9a-f]{64}", image)


def test_no_image_is_built_or_kept(template: Template) -> None:
    assert not template.resources("AWS::ECR::Repository")
    assets = template.manifest["artifacts"][f"leap-{template.stage}.assets"]
    assert assets["type"] == "cdk:asset-manifest"
    assert "dockerImages" not in json.dumps(template.manifest)


def test_the_task_starts_with_the_bootstrap_and_knows_where_its_code_is(
    template: Template,
) -> None:
    found = container(template)
    assert found["Name"] == "retrain"
    assert found["Command"] == ["python", "-c", BOOTSTRAP.read_text()]
    assert "EntryPoint" not in found
    variables = {entry["Name"]: entry["Value"] for entry in found["Environment"]}
    assert re.fullmatch(
        r"https://s3\.\$\{AWS::Region\}\.\$\{AWS::URLSuffix\}/cdk-\w+-assets-\S+/[0-9a-f]{64}\.zip",
        variables.pop("LEAP_CODE"),
    )
    assert variables == {
        "AWS_DEFAULT_REGION": "<AWS::Region>",
        "LEAP_STORE": "s3://<StoreBucket>",
        "LEAP_STAGE": template.stage,
        "LEAP_TARGETS": "throughput",
    }


def test_the_whole_definition_is_within_the_64_kb_that_ecs_takes(template: Template) -> None:
    definition = json.dumps(template.properties("AWS::ECS::TaskDefinition"))
    assert len(definition.encode()) < 32 * 1024


def test_a_stop_reaches_the_run_and_leaves_it_time(template: Template) -> None:
    found = container(template)
    # As the first process of a container it would never see SIGTERM while it is fetching.
    assert found["LinuxParameters"]["InitProcessEnabled"] is True
    assert found["StopTimeout"] == 120
    assert found["User"] == "1000:1000"
    assert found["LogConfiguration"]["Options"]["awslogs-group"] == "<RetrainLog>"


def test_the_task_is_of_a_size_that_fargate_has(template: Template) -> None:
    task = template.properties("AWS::ECS::TaskDefinition")
    assert task["Family"] == f"leap-{template.stage}-retrain"
    assert task["RequiresCompatibilities"] == ["FARGATE"]
    assert task["NetworkMode"] == "awsvpc"
    assert (task["Cpu"], task["Memory"]) == ("4096", "16384")
    assert task["RuntimePlatform"] == {
        "CpuArchitecture": "ARM64",
        "OperatingSystemFamily": "LINUX",
    }


def test_the_network_has_a_way_out_and_none_in(template: Template) -> None:
    group = template.properties("AWS::EC2::SecurityGroup")
    (out,) = group["SecurityGroupEgress"]
    assert (out["IpProtocol"], out["FromPort"], out["ToPort"]) == ("tcp", 443, 443)
    assert "SecurityGroupIngress" not in group
    assert not template.resources("AWS::EC2::SecurityGroupIngress")


@pytest.mark.parametrize("kind", ["AWS::EC2::NatGateway", "AWS::EC2::EIP", "AWS::EC2::FlowLog"])
def test_the_network_has_no_parts_that_cost_by_the_hour(template: Template, kind: str) -> None:
    assert not template.resources(kind)


def test_every_subnet_is_public(template: Template) -> None:
    subnets = template.resources("AWS::EC2::Subnet")
    found = template.resources("AWS::EC2::Route").values()
    routes = [template.plain(route["Properties"]) for route in found]
    assert len(subnets) == len(routes) == 2
    for route in routes:
        assert route["DestinationCidrBlock"] == "0.0.0.0/0"
        assert route["GatewayId"] == "<RetrainNetworkVpcIGW>"
    for subnet in subnets.values():
        # Only the task asks for a public address, and only while it runs.
        assert subnet["Properties"]["MapPublicIpOnLaunch"] is False
