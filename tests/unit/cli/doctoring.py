"""A sound stage, in a folder and on moto, for faults to be planted in."""

import io
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from botocore.exceptions import ClientError

from leap_model import aws
from leap_model.s3 import S3Store
from leap_model.store import LocalStore, Store
from leap_model.times import parse_time
from tests.aws import account
from tests.unit.cli.commands import run, strict

STAGE = "prod"
NOW = "2026-01-13T06:00:00Z"
"""Four hours after the night of the session's trained store."""
REGION, ACCOUNT, BUCKET = "eu-west-1", "123456789012", "fleet"
ROOT = f"s3://{BUCKET}"
SWITCHES = b'{"default": {"percent": 10}, "model_types": {}}'
POINTER = f"pointers/{STAGE}/throughput.json"
PARAMETER = f"/leap/{STAGE}/throughput/pointer"


made = cache(aws.client)
"""A client of each service; to make one takes longer than all that a test asks of it."""


def it_is(monkeypatch: pytest.MonkeyPatch, when: str = NOW) -> None:
    """What the command takes for the current time."""
    monkeypatch.setattr("cli.commands.doctor.now_us", lambda: parse_time(when))


def as_stage(trained: LocalStore, store: Store, *, without: str = "reports/") -> None:
    """The trained store's content, as that of the stage, with switches."""
    for top in ("attempts", "catalogue", "models", "pointers", "reports"):
        for key in trained.keys(top):
            if not key.startswith(without):
                name = key.replace("pointers/local/", f"pointers/{STAGE}/")
                store.create(name, trained.read(key) or b"")
    store.create(f"pointers/{STAGE}/switches.json", SWITCHES)


def replaced(store: Store, key: str, content: bytes) -> None:
    """Write an object whatever it held."""
    store.replace(key, content, store.fetch(key)[1])


def examined(*arguments: object) -> tuple[int, Any]:
    """Exit code and document of the command, which must never end in any other way."""
    result = run("doctor", *arguments, "--json")
    assert isinstance(result.exception, SystemExit | None), repr(result.exception)
    document = strict(result.stdout)
    wrong, unseen = document["problems"], document["unseen"]
    assert result.exit_code == (1 if wrong else 2 if unseen else 0)
    assert all(entry[name] for entry in wrong for name in ("check", "wrong", "rule", "do"))
    assert all("\n" not in text for entry in wrong + unseen for text in entry.values())
    return result.exit_code, document


def found(document: Any) -> list[tuple[str, str]]:
    """(check, what is wrong) of each problem."""
    return [(entry["check"], entry["wrong"]) for entry in document["problems"]]


class Stacks:
    """CloudFormation with one stack, or none; moto's needs a package that nothing else does."""

    def __init__(self, outputs: dict[str, str], status: str = "CREATE_COMPLETE") -> None:
        self.outputs: dict[str, str] | None = outputs
        self.status = status

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803 - as boto3
        if self.outputs is None:
            error: Any = {
                "Error": {"Code": "ValidationError", "Message": f"{StackName} does not exist"}
            }
            raise ClientError(error, "DescribeStacks")
        outputs = [{"OutputKey": k, "OutputValue": v} for k, v in self.outputs.items()]
        return {"Stacks": [{"StackStatus": self.status, "Outputs": outputs}]}


class Policies:
    """IAM that simulates, which moto's does not; all else goes to moto.

    Attributes
    ----------
    refused : set of str
        Actions that nobody may do.
    asked : list
        The arguments of each simulation.
    """

    def __init__(self, refused: set[str]) -> None:
        self.refused = refused
        self.asked: list[dict[str, Any]] = []
        self._iam = made("iam")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iam, name)

    def simulate_principal_policy(self, **asked: Any) -> dict[str, Any]:
        self.asked.append(asked)
        decided = {action: action not in self.refused for action in asked["ActionNames"]}
        return {
            "EvaluationResults": [
                {"EvalActionName": action, "EvalDecision": "allowed" if yes else "implicitDeny"}
                for action, yes in decided.items()
            ]
        }


class Url:
    """A function URL on this machine.

    Attributes
    ----------
    status : int
        What it answers.
    asked : list of (str, str, str)
        Path, body and Authorization header of each call.
    """

    def __init__(self) -> None:
        self.status = 404
        self.asked: list[tuple[str, bytes, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.asked.append((self.path, body, self.headers["Authorization"]))
                self.send_response(outer.status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/"

    @contextmanager
    def serving(self) -> Iterator["Url"]:
        """Answer while the block runs."""
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()


class Deployed:
    """The stage on moto: what the stack would have made, and a night's model.

    Attributes
    ----------
    store : S3Store
        Its store.
    stacks, url : Stacks, Url
        CloudFormation, and the function URL.
    others : dict
        Stand-ins for whole services, by name.
    """

    def __init__(self, trained: LocalStore, store: S3Store, url: Url) -> None:
        self.store, self.url = store, url
        self.stacks = Stacks({"BucketName": BUCKET, "RankUrl": url.address})
        self.others: dict[str, Any] = {"cloudformation": self.stacks}
        as_stage(trained, store)
        ssm = made("ssm")
        self.parameter(f"/leap/{STAGE}/store", ROOT)
        self.parameter(PARAMETER, json.dumps(json.loads(store.read(POINTER) or b"")))
        self.ssm = ssm
        self.sqs = made("sqs")
        for name in ("attempts", "attempts-dlq", "nightly-dlq"):
            self.sqs.create_queue(QueueName=f"leap-{STAGE}-{name}")
        self.lambda_ = made("lambda")
        self.role = self._role()
        for name in ("ingest", "rank"):
            self.function(name)
        self.mapping = self.lambda_.create_event_source_mapping(
            EventSourceArn=f"arn:aws:sqs:{REGION}:{ACCOUNT}:leap-{STAGE}-attempts",
            FunctionName=f"leap-{STAGE}-ingest",
            BatchSize=10,
        )["UUID"]
        self.scheduler = made("scheduler")
        self.schedule()
        self.cloudwatch = made("cloudwatch")
        self.alarm("w20-low", "OK")

    def client(self, service: str, budget: aws.Budget = aws.PATIENT) -> Any:
        """What the command's clients are in a test."""
        return self.others.get(service) or made(service, budget)

    def parameter(self, name: str, value: str) -> None:
        made("ssm").put_parameter(Name=name, Value=value, Type="String", Overwrite=True)

    def send(self, queue: str, count: int) -> None:
        """Messages into a queue that nothing takes them from: moto would start a container."""
        self.lambda_.update_event_source_mapping(UUID=self.mapping, Enabled=False)
        url = self.sqs.get_queue_url(QueueName=f"leap-{STAGE}-{queue}")["QueueUrl"]
        for at in range(count):
            self.sqs.send_message(QueueUrl=url, MessageBody=str(at))
        self.lambda_.update_event_source_mapping(UUID=self.mapping, Enabled=True)

    def waited(self, seconds: float) -> None:
        """What SQS told CloudWatch of the queue's oldest message, two minutes ago."""
        self.cloudwatch.put_metric_data(
            Namespace="AWS/SQS",
            MetricData=[
                {
                    "MetricName": "ApproximateAgeOfOldestMessage",
                    "Dimensions": [{"Name": "QueueName", "Value": f"leap-{STAGE}-attempts"}],
                    "Value": seconds,
                    "Timestamp": datetime(2026, 1, 13, 5, 58, tzinfo=UTC),
                }
            ],
        )

    def function(self, name: str, **told: str) -> None:
        """Make a function, or tell one something else."""
        variables = {"LEAP_STORE": ROOT, "LEAP_STAGE": STAGE} | told
        whole = {"FunctionName": f"leap-{STAGE}-{name}", "Environment": {"Variables": variables}}
        if told:
            self.lambda_.update_function_configuration(**whole)
            return
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("handler.py", "")
        self.lambda_.create_function(
            **whole,
            Runtime="python3.13",
            Role=self.role,
            Handler="handler.handler",
            Code={"ZipFile": archive.getvalue()},
        )

    def schedule(self, state: str = "ENABLED", **told: str) -> None:
        """The schedule, anew, with a task that is told something."""
        variables = {"LEAP_STORE": ROOT, "LEAP_STAGE": STAGE} | told
        environment = [{"name": name, "value": value} for name, value in variables.items()]
        container: Any = {
            "name": "retrain",
            "image": "python",
            "memory": 512,
            "environment": environment,
        }
        task = made("ecs").register_task_definition(
            family=f"leap-{STAGE}-retrain", containerDefinitions=[container]
        )["taskDefinition"]["taskDefinitionArn"]
        name = f"leap-{STAGE}-nightly"
        known = self.scheduler.list_schedules(NamePrefix=name)["Schedules"]
        change = self.scheduler.update_schedule if known else self.scheduler.create_schedule
        change(
            Name=name,
            ScheduleExpression="cron(0 2 * * ? *)",
            FlexibleTimeWindow={"Mode": "OFF"},
            State=state,
            Target={
                "Arn": f"arn:aws:ecs:{REGION}:{ACCOUNT}:cluster/leap-{STAGE}",
                "RoleArn": self.role,
                "EcsParameters": {"TaskDefinitionArn": task},
            },
        )

    def alarm(self, name: str, state: str, stage: str = STAGE) -> None:
        """An alarm of a stage, in a state."""
        whole = f"leap-{stage}-{name}"
        self.cloudwatch.put_metric_alarm(
            AlarmName=whole,
            AlarmDescription="See what it says.",
            AlarmActions=[f"arn:aws:sns:{REGION}:{ACCOUNT}:leap-{stage}-alarms"],
            MetricName="W20",
            Namespace="LEAP",
            Statistic="Minimum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=0.5,
            ComparisonOperator="LessThanThreshold",
        )
        self.cloudwatch.set_alarm_state(
            AlarmName=whole, StateValue=state, StateReason="0.41 is below 0.5"
        )

    def _role(self) -> str:
        trust = json.dumps({"Version": "2012-10-17", "Statement": []})
        answer = made("iam").create_role(RoleName="runs", AssumeRolePolicyDocument=trust)
        return str(answer["Role"]["Arn"])


@contextmanager
def sound_stage(
    trained: LocalStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Deployed]:
    """A stage with nothing wrong in it, which the command's clients talk to."""
    it_is(monkeypatch)
    with account(monkeypatch, BUCKET, REGION), Url().serving() as url:
        stage = Deployed(trained, S3Store(BUCKET, s3=made("s3"), cache=folder / "cache"), url)
        for place in ("cli.doctor.account.client", "leap_model.aws.client"):
            monkeypatch.setattr(place, stage.client)
        yield stage


Plant: TypeAlias = Callable[[Deployed], object]
"""Puts one fault into a sound stage."""
