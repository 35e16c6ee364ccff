"""The nightly run: a schedule, and the Fargate task that it starts."""

import json
from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra import settings as limits
from infra.bundle import ROOT
from infra.bundling import Bundle, asset_of
from infra.function import log_group_of
from infra.network import Network
from infra.roles import allow, parameters, service_role
from infra.settings import Settings
from infra.store import Store

CONTAINER: Final = "retrain"
_BOOTSTRAP: Final = ROOT / "infra" / "assets" / "bootstrap.py"
_SCHEDULED_TIME: Final = "<aws.scheduler.scheduled-time>"
"""Replaced by Scheduler, in every retry by the time of the night that was to run."""


class Retrain(Construct):
    """Trains, publishes and points, on a public image: none is built or kept."""

    def __init__(self, scope: Construct, name: str, settings: Settings, store: Store) -> None:
        super().__init__(scope, name)
        self.log_group = log_group_of(self, settings)
        self.network = Network(self, "Network", settings.scheduler)
        self.cluster = ecs.Cluster(
            self, "Cluster", cluster_name=settings.name(), vpc=self.network.vpc
        )
        self.task = self._task(settings, store)
        self.dead_letters = sqs.Queue(
            self,
            "DeadLetters",
            queue_name=settings.name("nightly-dlq"),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(limits.QUEUE_RETENTION_DAYS),
        )
        self.schedule = self._schedule(settings)

    def _task(self, settings: Settings, store: Store) -> ecs.FargateTaskDefinition:
        arm = settings.machine.processor == "aarch64"
        code = asset_of(self, Bundle.RETRAIN, settings.machine)
        where_code_is = code.bucket.arn_for_objects(code.s3_object_key)
        cpu, memory = limits.TASKS[settings.task]
        task = ecs.FargateTaskDefinition(
            self,
            "Task",
            family=settings.name("retrain"),
            cpu=cpu,
            memory_limit_mib=memory,
            runtime_platform=ecs.RuntimePlatform(
                cpu_architecture=ecs.CpuArchitecture.ARM64 if arm else ecs.CpuArchitecture.X86_64,
                operating_system_family=ecs.OperatingSystemFamily.LINUX,
            ),
            task_role=service_role(
                self,
                "TaskRole",
                "ecs-tasks.amazonaws.com",
                [allow("s3:GetObject", on=[where_code_is]), *_training(self, settings, store)],
                guarded=True,
            ),
            execution_role=service_role(self, "ExecutionRole", "ecs-tasks.amazonaws.com", []),
        )
        task.add_container(
            CONTAINER,
            image=ecs.ContainerImage.from_registry(limits.RETRAIN_IMAGE),
            command=["python", "-c", _BOOTSTRAP.read_text()],
            user=limits.RETRAIN_USER,
            stop_timeout=Duration.seconds(limits.RETRAIN_STOP_S),
            # So that SIGTERM reaches the run while it is still fetching, and processes that it
            # leaves behind are ended.
            linux_parameters=ecs.LinuxParameters(self, "Init", init_process_enabled=True),
            logging=ecs.LogDrivers.aws_logs(stream_prefix="nightly", log_group=self.log_group),
            environment={
                "AWS_DEFAULT_REGION": Stack.of(self).region,
                "LEAP_CODE": code.http_url,
                "LEAP_STORE": store.uri,
                "LEAP_STAGE": settings.stage,
                "LEAP_TARGETS": ",".join(limits.TRAINED_TARGETS),
                **_told("LEAP_ESTIMATOR", settings.estimators),
                **_told("LEAP_SCHEDULER", settings.scheduler),
                **_told("LEAP_WINDOW_DAYS", settings.window_days),
                **_told("LEAP_HISTORY_DAYS", settings.history_days),
            },
        )
        return task

    def _schedule(self, settings: Settings) -> scheduler.CfnSchedule:
        task, cluster = self.task.task_definition_arn, self.cluster.cluster_arn
        told = {"name": "LEAP_SCHEDULED_TIME", "value": _SCHEDULED_TIME}
        overrides = {"containerOverrides": [{"name": CONTAINER, "environment": [told]}]}
        return scheduler.CfnSchedule(
            self,
            "Schedule",
            name=settings.name("nightly"),
            description="Trains on what completed before midnight UTC",
            schedule_expression=limits.SCHEDULE,
            schedule_expression_timezone=limits.TIMEZONE,
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=cluster,
                role_arn=self._starter(task, cluster).role_arn,
                input=json.dumps(overrides),
                dead_letter_config=scheduler.CfnSchedule.DeadLetterConfigProperty(
                    arn=self.dead_letters.queue_arn
                ),
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_retry_attempts=limits.SCHEDULE_RETRIES,
                    maximum_event_age_in_seconds=limits.SCHEDULE_MOST_AGE_S,
                ),
                ecs_parameters=scheduler.CfnSchedule.EcsParametersProperty(
                    task_definition_arn=task,
                    task_count=1,
                    launch_type="FARGATE",
                    network_configuration=self.network.configuration(),
                ),
            ),
        )

    def _starter(self, task: str, cluster: str) -> iam.Role:
        roles = [self.task.task_role.role_arn, self.task.obtain_execution_role().role_arn]
        statements = [
            allow("ecs:RunTask", on=[task], where={"ArnEquals": {"ecs:cluster": cluster}}),
            allow(
                "iam:PassRole",
                on=roles,
                where={"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
            ),
            allow("sqs:SendMessage", on=[self.dead_letters.queue_arn]),
        ]
        service = "scheduler.amazonaws.com"
        return service_role(self, "ScheduleRole", service, statements, guarded=True)


def _told(name: str, value: str | None) -> dict[str, str]:
    return {} if value is None else {name: value}


def _training(scope: Construct, settings: Settings, store: Store) -> list[iam.PolicyStatement]:
    """What the run itself does: it alone writes models and moves pointers."""
    pointers = [
        f"pointers/{settings.stage}/{target}{part}"
        for target in limits.TRAINED_TARGETS
        for part in (".json", ".moves/*")
    ]
    # Fits that are finished, for the run that comes after one that was killed.
    scratch = f"scratch/{settings.stage}/*"
    return [
        # On the whole bucket: without it S3 answers 403 for what is not there, as on a first night.
        allow("s3:ListBucket", on=[store.bucket.bucket_arn]),
        allow(
            "s3:GetObject",
            on=store.objects(
                *("attempts/*", "catalogue/hardware.json", "models/*", "reports/*", scratch),
                *pointers,
            ),
        ),
        # Of attempts, it writes those that it merged, and lets go what they hold.
        allow(
            "s3:PutObject",
            on=store.objects("attempts/*/merged-*", "models/*", "reports/*", scratch, *pointers),
        ),
        allow("s3:GetObjectTagging", on=store.objects("models/*")),
        allow("s3:PutObjectTagging", on=store.objects("attempts/*", "models/*")),
        allow(
            "ssm:GetParameter",
            "ssm:PutParameter",
            on=parameters(scope, *settings.pointers(limits.TRAINED_TARGETS)),
        ),
    ]
