"""Writes openapi.json, the description of the rank function for machines.

python -m functions.rank.openapi
"""

import json
from pathlib import Path
from typing import Any

from functions.rank.envelope import JSON_TYPE
from functions.rank.shapes import Shape, named, schemas
from leap_model.limits import MOST_REQUEST_BYTES

PATH = Path(__file__).with_name("openapi.json")


def description() -> dict[str, Any]:
    """The OpenAPI document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "LEAP rank",
            "version": "1",
            "summary": "Which accelerator types give a training job the most work per dollar.",
            "description": (
                "Every answer has the same keys. Whatever fails, its preference is empty and its "
                "reason says why. New keys may be added; none is renamed or removed."
            ),
        },
        "servers": [
            {
                "url": "https://{id}.lambda-url.{region}.on.aws",
                "variables": {"id": {"default": "ID"}, "region": {"default": "us-east-1"}},
            }
        ],
        "security": [{"sigv4": []}],
        "paths": {
            "/": {"post": _ranking("rank")},
            "/rank": {"post": _ranking("rankByName")},
        },
        "components": {
            "schemas": schemas(),
            "securitySchemes": {
                "sigv4": {
                    "type": "apiKey",
                    "name": "Authorization",
                    "in": "header",
                    "description": "AWS Signature Version 4 of the service lambda.",
                    "x-amazon-apigateway-authtype": "awsSigv4",
                }
            },
        },
    }


def text() -> str:
    """The content of openapi.json."""
    return json.dumps(description(), indent=2, ensure_ascii=False) + "\n"


def _ranking(operation: str) -> Shape:
    most = MOST_REQUEST_BYTES // 1024
    return {
        "operationId": operation,
        "summary": "Rank the candidates of a job.",
        "description": "A slash at the end of the path is the same. GET and others are 405.",
        "requestBody": {
            "required": True,
            "description": f"Strict JSON in UTF-8, at most {most} KB, of whatever content type.",
            "content": _content("Request"),
        },
        "responses": {
            "200": _response("The answer, also where its preference is empty."),
            "400": _response("invalid_request: `detail` names the field, the value and the rule."),
            "404": _response("invalid_request: another path."),
            "405": _response("invalid_request: another method than POST."),
        },
    }


def _response(what: str) -> Shape:
    return {"description": what, "content": _content("Answer")}


def _content(name: str) -> Shape:
    return {JSON_TYPE: {"schema": named(name)}}


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
