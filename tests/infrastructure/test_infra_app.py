"""The app as a whole: what `cdk` is told, what it reads, and what it must not know."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.settings import Settings
from tests.infrastructure.templates import NO_BUNDLES, Template

ROOT = Path(__file__).parents[2]


def settings(**context: Any) -> Settings:
    """Settings of a context."""
    return Settings.of_context(context.get)


def test_a_stage_is_dev_unless_said_otherwise() -> None:
    assert settings().stage == "dev"
    assert not settings().production
    assert settings(stage="prod").production
    assert settings(stage="team-a2").name("attempts") == "leap-team-a2-attempts"


@pytest.mark.parametrize("stage", ["Prod", "1st", "a b", "a" * 25, "-a", "dev/../prod", "dév"])
def test_a_stage_that_is_no_name_is_refused(stage: str) -> None:
    with pytest.raises(ValueError, match="must be up to 24 lower-case letters"):
        settings(stage=stage)


@pytest.mark.parametrize("local", ["yes", "1", "none"])
def test_local_is_true_or_false(local: str) -> None:
    with pytest.raises(ValueError, match="must be true or false"):
        settings(local=local)
    assert settings(local=False) == settings(local="false") == settings()


def test_alarms_go_to_an_address() -> None:
    with pytest.raises(ValueError, match="must be one address"):
        settings(alarm_email="nobody")


def test_estimators_are_known_ones_with_commas_between_them() -> None:
    assert settings().estimators is None
    assert settings(estimators="network, cascade").estimators == "network,cascade"
    with pytest.raises(ValueError, match='estimators is "magic"; it must be one of'):
        settings(estimators="network,magic")


def test_a_night_runs_on_what_fargate_has() -> None:
    assert settings().task == "4x16"
    assert settings(task="16x120").task == "16x120"
    for size in ("2x8", "4x31", "8x18", "16x128", "4", "x", "4 x 16"):
        with pytest.raises(ValueError, match=f'^task "{size}" must be a size that Fargate has'):
            settings(task=size)


def test_a_dask_scheduler_is_an_address() -> None:
    assert settings().scheduler is None
    assert settings(scheduler="tcp://10.1.0.9:8786").scheduler == "tcp://10.1.0.9:8786"
    with pytest.raises(ValueError, match=r'^scheduler is "10.1.0.9"; it must be tcp://HOST:PORT'):
        settings(scheduler="10.1.0.9")


@pytest.mark.parametrize("days", ["0", "x", "2.5", "36501", ""])
@pytest.mark.parametrize("name", ["window_days", "history_days"])
def test_a_window_and_histories_are_days(name: str, days: str) -> None:
    assert getattr(settings(), name) is None
    assert getattr(settings(**{name: "7"}), name) == "7"
    assert getattr(settings(**{name: 7}), name) == "7"
    with pytest.raises(ValueError, match=rf"^{name} is .*; it must be an integer from 1 to"):
        settings(**{name: days})


def test_the_app_says_in_one_line_what_is_wrong_with_its_context(tmp_path: Path) -> None:
    done = app(tmp_path, {"stage": "NO"})
    assert done.returncode == 1
    assert 'stage "NO" must be' in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_cdk_s_own_validation_finds_nothing_either(tmp_path: Path) -> None:
    done = app(tmp_path, {"stage": "prod"}, CDK_VALIDATION="true")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "validation-report.json").read_text())
    found = {plugin.get("pluginName") for plugin in report["pluginReports"]}
    assert not [entry for entry in report["pluginReports"] if entry.get("violations")], found
    assert (tmp_path / "leap-prod.template.json").exists()


def test_functions_are_bundled_on_a_machine_without_docker(tmp_path: Path) -> None:
    done = app(tmp_path, {"aws:cdk:bundling-stacks": ["**"]})
    assert done.returncode == 0, done.stderr
    assets = {path.name.removeprefix("asset."): path for path in tmp_path.glob("asset.*")}
    body = json.loads((tmp_path / "leap-dev.template.json").read_text())
    template = Template("dev", body, {})
    for function in template.resources("AWS::Lambda::Function").values():
        name, _, _ = function["Properties"]["Handler"].rpartition(".")
        key = function["Properties"]["Code"]["S3Key"].removesuffix(".zip")
        assert (assets.pop(key) / f"{name.replace('.', '/')}.py").exists()
    ((key, code),) = assets.items()
    assert (code / "functions" / "retrain" / "__main__.py").exists()
    assert f"/{key}.zip" in json.dumps(template.properties("AWS::ECS::TaskDefinition"))


def app(
    folder: Path, context: dict[str, Any], **variables: str
) -> subprocess.CompletedProcess[str]:
    """`python -m infra.app` as `cdk` starts it, on a machine that has Node and not Docker."""
    told = {**NO_BUNDLES, **context}
    environment = {
        **{name: value for name, value in os.environ.items() if name != "CDK_VALIDATION"},
        "CDK_OUTDIR": str(folder),
        "CDK_CONTEXT_JSON": json.dumps(told),
        "PATH": path_without_docker(folder.parent),
        "CDK_VALIDATION": "false",
        **variables,
    }
    return subprocess.run(
        [sys.executable, "-m", "infra.app"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def path_without_docker(folder: Path) -> str:
    """A PATH on which Node is found and nothing else is."""
    node = subprocess.run(["which", "node"], capture_output=True, text=True, check=True).stdout
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    if not (tools / "node").exists():
        (tools / "node").symlink_to(Path(node.strip()).resolve())
    return str(tools)


def test_nothing_is_looked_up_while_synthesising(template: Template) -> None:
    assert "missing" not in template.manifest
    assert "dummy" not in json.dumps(template.body).lower()
    assert not (ROOT / "cdk.context.json").exists()
    environment = template.manifest["artifacts"][f"leap-{template.stage}"]["environment"]
    assert environment == "aws://unknown-account/unknown-region"
    kinds = [parameter["Type"] for parameter in template.body.get("Parameters", {}).values()]
    assert kinds == ["AWS::SSM::Parameter::Value<String>"]  # the bootstrap's version, checked


def test_nothing_is_shared_between_stacks(template: Template) -> None:
    assert not [name for name, said in template.body["Outputs"].items() if "Export" in said]
    assert "Fn::ImportValue" not in json.dumps(template.body)
    assert not template.resources("AWS::Lambda::LayerVersion")
    stacks = [a for a in template.manifest["artifacts"].values() if "stack" in a["type"]]
    assert len(stacks) == 1


def test_the_stack_says_what_people_and_launchers_need(template: Template) -> None:
    said = template.plain({name: out["Value"] for name, out in template.body["Outputs"].items()})
    assert said == {
        "BusName": "<IngestBus>",
        "BusArn": "<IngestBus.Arn>",
        "QueueUrl": "<IngestQueue>",
        "DeadLettersUrl": "<IngestDeadLetters>",
        "BucketName": "<StoreBucket>",
        "Database": f"leap_{template.stage}",
        "RankUrl": "<RankFunctionFunctionUrl.FunctionUrl>",
        "Schedule": "<RetrainSchedule>",
        "AlarmTopic": "<ObservabilityAlarmsTopic>",
        "LauncherPolicy": "<LaunchersSending>",
        "RankerPolicy": "<LaunchersRanking>",
    }


def test_everything_is_tagged_with_its_stage(template: Template) -> None:
    bucket = template.properties("AWS::S3::Bucket", "StoreBucket")
    assert {"Key": "leap-stage", "Value": template.stage} in bucket["Tags"]


def test_infra_imports_no_code_that_it_deploys() -> None:
    for path in (ROOT / "infra").rglob("*.py"):
        code = path.read_text()
        assert not re.search(r"^(from|import) (functions|leap_model|cli)\b", code, re.M), path


def test_the_cdk_command_line_is_pinned_without_the_address_of_a_registry() -> None:
    package = json.loads((ROOT / "package.json").read_text())
    assert package["devDependencies"] == {"aws-cdk": "2.1148.1"}
    assert package["engines"] == {"node": ">=20"}
    lock = (ROOT / "package-lock.json").read_text()
    assert json.loads(lock)["packages"]["node_modules/aws-cdk"]["version"] == "2.1148.1"
    assert "://" not in lock
    assert '"resolved"' not in lock


def test_the_least_cdk_library_gives_a_url_both_its_permissions() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert '"aws-cdk-lib==2.275.0"' in project


def test_cdk_calls_what_sets_itself_up() -> None:
    said = json.loads((ROOT / "cdk.json").read_text())
    assert said["app"] == "make --silent cloud-assembly"
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^cloud-assembly: setup\n\t@\$\(BIN\)/python -m infra\.app$", makefile, re.M)
    for target in ("synth", "deploy", "destroy"):
        assert re.search(rf"^{target}: setup node_modules/\.ready ##", makefile, re.M)


@pytest.mark.parametrize(
    ("version", "taken"),
    [("18.20.8", False), ("19.9.0", False), ("20.0.0", True), ("22.14.0", True), ("24.1.0", True)],
)
def test_make_takes_node_20_and_newer_and_says_so_of_older_ones(
    tmp_path: Path, version: str, taken: bool
) -> None:
    for name in ("Makefile", "package-lock.json"):
        shutil.copy(ROOT / name, tmp_path)
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\nmkdir node_modules\n")
    npm.chmod(0o755)
    told = tmp_path / "version.js"
    versions = f'{{...process.versions, node: "{version}"}}'
    told.write_text(f"Object.defineProperty(process, 'versions', {{value: {versions}}});")
    done = subprocess.run(
        ["make", "node_modules/.ready"],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "NODE_OPTIONS": f"--require {told}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0, (tmp_path / "node_modules").exists()) == (taken, taken)
    assert ("the CDK needs Node.js 20 or newer" in done.stdout) != taken
