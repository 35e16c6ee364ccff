"""Checks a value against JSON Schema: the keywords that openapi.json uses, and no other."""

from collections.abc import Mapping
from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
_NOTES = {"description"}


class SchemaError(AssertionError):
    """A value is not what its schema says; the text says where."""


def validate(value: Any, schema: Mapping[str, Any], document: Mapping[str, Any]) -> None:
    """Raise SchemaError unless the value fits; `document` is what references lead into."""
    _check(value, schema, document, "$")


def _check(value: Any, schema: Mapping[str, Any], document: Mapping[str, Any], at: str) -> None:
    for keyword, rule in schema.items():
        if keyword == "$ref":
            _check(value, _resolve(rule, document), document, at)
        elif keyword == "anyOf":
            _any_of(value, rule, document, at)
        elif keyword == "properties":
            _properties(value, rule, document, at)
        elif keyword == "additionalProperties":
            known = schema.get("properties", {})
            rest = {name: rule for name in _entries(value) if name not in known}
            _properties(value, rest, document, at)
        elif keyword == "items":
            for place, item in enumerate(value if isinstance(value, list) else ()):
                _check(item, rule, document, f"{at}[{place}]")
        elif keyword not in _NOTES and not _RULES[keyword](value, rule):
            raise SchemaError(f"{at} is {value!r}; {keyword} is {rule!r}")


def _any_of(value: Any, choices: Any, document: Mapping[str, Any], at: str) -> None:
    faults = []
    for choice in choices:
        try:
            return _check(value, choice, document, at)
        except SchemaError as fault:
            faults.append(str(fault))
    raise SchemaError(" and ".join(faults))


def _properties(value: Any, shapes: Any, document: Mapping[str, Any], at: str) -> None:
    for name, shape in shapes.items():
        if name in _entries(value):
            _check(value[name], shape, document, f"{at}.{name}")


def _resolve(reference: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = document
    for name in reference.removeprefix("#/").split("/"):
        found = found[name]
    assert isinstance(found, Mapping)
    return found


def _entries(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_of(value: Any, names: Any) -> bool:
    def one(name: str) -> bool:
        if isinstance(value, bool):
            return name == "boolean"
        if name == "integer" and isinstance(value, float):
            return value.is_integer()
        return isinstance(value, TYPES[name])

    return any(one(name) for name in ([names] if isinstance(names, str) else names))


_RULES: Mapping[str, Any] = {
    "type": _is_of,
    "enum": lambda value, rule: value in rule,
    "const": lambda value, rule: value == rule,
    "required": lambda value, rule: not isinstance(value, dict) or set(rule) <= value.keys(),
    "minLength": lambda value, rule: not isinstance(value, str) or len(value) >= rule,
    "maxLength": lambda value, rule: not isinstance(value, str) or len(value) <= rule,
    "minItems": lambda value, rule: not isinstance(value, list) or len(value) >= rule,
    "maxItems": lambda value, rule: not isinstance(value, list) or len(value) <= rule,
    "maxProperties": lambda value, rule: len(_entries(value)) <= rule,
    "minimum": lambda value, rule: not _is_number(value) or value >= rule,
    "maximum": lambda value, rule: not _is_number(value) or value <= rule,
    "exclusiveMinimum": lambda value, rule: not _is_number(value) or value > rule,
    "format": lambda value, rule: rule == "date-time",
}
