"""A synthesised template, and questions to it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.app import make_app, make_stack

NO_BUNDLES: dict[str, Any] = {"aws:cdk:bundling-stacks": []}


@dataclass(frozen=True)
class Template:
    """A stack's template, and the cloud assembly's manifest."""

    stage: str
    body: dict[str, Any]
    manifest: dict[str, Any]

    def resources(self, kind: str) -> dict[str, dict[str, Any]]:
        """The resources of a type, by logical id."""
        found = self.body["Resources"].items()
        return {name: resource for name, resource in found if resource["Type"] == kind}

    def properties(self, kind: str, id_part: str = "") -> dict[str, Any]:
        """The properties of the one resource of a type (whose id has this part)."""
        found = [r for name, r in self.resources(kind).items() if id_part in name]
        assert len(found) == 1, f"{len(found)} of {kind} {id_part}"
        properties: dict[str, Any] = found[0]["Properties"]
        return properties

    def plain(self, value: Any) -> Any:
        """A value with references as text, such as `<IngestQueue.Arn>`, without ids' digests."""
        if isinstance(value, dict) and len(value) == 1:
            (function, argument), *_ = value.items()
            if function == "Ref":
                return f"<{self.short(argument)}>"
            if function == "Fn::GetAtt":
                return f"<{self.short(argument[0])}.{argument[1]}>"
            if function == "Fn::Join":
                return argument[0].join(str(self.plain(part)) for part in argument[1])
            if function == "Fn::Sub":
                return argument
        if isinstance(value, dict):
            return {name: self.plain(entry) for name, entry in value.items()}
        return [self.plain(entry) for entry in value] if isinstance(value, list) else value

    def short(self, logical_id: str) -> str:
        """A logical id without its digest of eight characters; pseudo parameters as they are."""
        return logical_id if logical_id.startswith("AWS::") else logical_id[:-8]

    def statements(self, role: str) -> list[dict[str, Any]]:
        """What a role, by itself and by what is attached to it, or a managed policy may do."""
        found = []
        for name, resource in self.body["Resources"].items():
            properties = resource.get("Properties", {})
            documents = []
            if self.short(name) == role and resource["Type"] == "AWS::IAM::Role":
                documents = [entry["PolicyDocument"] for entry in properties.get("Policies", ())]
            elif self.short(name) == role and resource["Type"] == "AWS::IAM::ManagedPolicy":
                documents = [properties["PolicyDocument"]]
            elif resource["Type"] == "AWS::IAM::Policy":
                attached = [self.short(entry["Ref"]) for entry in properties["Roles"]]
                documents = [properties["PolicyDocument"]] if role in attached else []
            found += [s for document in documents for s in document["Statement"]]
        return [self.plain(statement) for statement in found]

    def identities(self) -> list[str]:
        """Short ids of all roles and managed policies."""
        kinds = ("AWS::IAM::Role", "AWS::IAM::ManagedPolicy")
        return [self.short(name) for kind in kinds for name in self.resources(kind)]

    def alarms(self) -> dict[str, dict[str, Any]]:
        """Alarms by name, without the stage's."""
        start = f"leap-{self.stage}-"
        found = [r["Properties"] for r in self.resources("AWS::CloudWatch::Alarm").values()]
        return {alarm["AlarmName"].removeprefix(start): alarm for alarm in found}


def synthesised(folder: Path, **context: Any) -> Template:
    """The template that this context gives, without bundles."""
    app = make_app({**NO_BUNDLES, **context}, outdir=str(folder))
    stack = make_stack(app)
    app.synth()
    body = json.loads((folder / f"{stack.artifact_id}.template.json").read_text())
    return Template(stack.settings.stage, body, json.loads((folder / "manifest.json").read_text()))


def listed(value: Any) -> list[Any]:
    """As CloudFormation takes it: one, or several."""
    return value if isinstance(value, list) else [value]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a nested one, and where it stands."""
    if isinstance(value, dict):
        for name, entry in value.items():
            yield from leaves(entry, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for at, entry in enumerate(value):
            yield from leaves(entry, f"{path}[{at}]")
    else:
        yield path, value
