"""Whether the nightly run is started, and what it is told."""

from cli.doctor.account import Account
from cli.doctor.functions import told_problems
from cli.doctor.names import Names
from cli.doctor.report import Problem, Problems


def schedule_problems(account: Account, names: Names, root: str | None) -> Problems:
    """The schedule, and the task that it starts; `root` is that of the stage's store."""
    name = names.schedule
    redeploy = f"make deploy STAGE={names.stage}"
    found = account.ask("scheduler", "get_schedule", on=name, Name=name)
    if found is None:
        yield Problem(f"{name} is not there", "it starts every nightly run", redeploy)
        return
    if found["State"] != "ENABLED":
        yield Problem(
            f"{name} is {found['State']}",
            "it starts every nightly run",
            f"enable it in EventBridge Scheduler's console, or delete it there and {redeploy}",
        )
    task = found.get("Target", {}).get("EcsParameters", {}).get("TaskDefinitionArn")
    if task is None:
        yield Problem(f"{name} starts no task", "it starts every nightly run", redeploy)
        return
    answer = account.ask("ecs", "describe_task_definition", on=task, taskDefinition=task)
    if answer is None:
        yield Problem(f"{task} is not there", f"{name} starts it", redeploy)
        return
    for container in answer["taskDefinition"]["containerDefinitions"]:
        told = {entry["name"]: entry["value"] for entry in container.get("environment", ())}
        yield from told_problems(f"the nightly task's {container['name']}", told, names.stage, root)
