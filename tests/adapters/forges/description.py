"""A vendor's description of its interface: what a request may be, and what its answers look like.

`filled` makes an answer with everything that the description requires, so that an adapter meets
whole answers and not only the parts that it reads.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import jsonschema_rs

from tests.places import ROOT

FOLDER = ROOT / "tests/fixtures/forges"
AT = "2026-01-02T03:04:05Z"
FORMATS = {"date-time": AT, "date": AT[:10], "uri": "https://example.org/x", "email": "a@b.example"}


class Description:
    """The description in `tests/fixtures/forges/<name>.json`."""

    def __init__(self, name: str, *, closed: bool) -> None:
        """Read it. `closed`: objects have no other fields than those that it names."""
        self._whole = _plain(json.loads((FOLDER / f"{name}.json").read_text()), closed=closed)
        self._validators: dict[str, Any] = {}

    def operation(self, method: str, path: str) -> tuple[str, Mapping[str, Any]]:
        """Return the template and the description of an operation."""
        parts = path.split("/")
        for template, operations in self._whole["paths"].items():
            named = template.split("/")
            fits = len(named) == len(parts) and all(
                one.startswith("{") or one == part for one, part in zip(named, parts, strict=True)
            )
            if fits and method.lower() in operations:
                return template, operations[method.lower()]
        raise AssertionError(f"the description has no {method} {path}")

    def check_request(
        self, operation: Mapping[str, Any], query: Mapping[str, str], body: Any
    ) -> None:
        """Fail for a parameter, value or body that the operation does not name."""
        known = {one["name"]: one for one in map(self._resolved, operation.get("parameters", ()))}
        for name, value in query.items():
            assert known[name]["in"] == "query", f"{name} is no parameter of the query"
            choices = known[name].get("schema", {}).get("enum")
            assert choices is None or value in choices, f"{name}={value} is none of {choices}"
        content = operation.get("requestBody", {}).get("content", {})
        if content:
            self._validate(content["application/json"]["schema"], body)
        else:
            assert body is None

    def answer(self, operation: Mapping[str, Any], status: int, values: Any) -> Any:
        """Return a whole answer: what the description requires, and over it `values`."""
        response = self._resolved(operation["responses"][str(status)])
        schema = response["content"]["application/json"]["schema"]
        made = self._over(schema, values)
        self._validate(schema, made)
        return made

    def _over(self, schema: Any, values: Any) -> Any:
        """Return `values` with what is required and was left out."""
        schema = self._resolved(schema)
        if isinstance(values, list):
            several = (schema, *map(self._resolved, schema.get("anyOf", ())))
            items = next(one["items"] for one in several if "items" in one)
            return [self._over(items, one) for one in values]
        if not isinstance(values, dict):
            return values
        properties = self._properties(schema)
        made = self._filled(schema)
        return made | {
            name: self._over(properties[name], value) if name in properties else value
            for name, value in values.items()
        }

    def _properties(self, schema: Any) -> dict[str, Any]:
        schema = self._resolved(schema)
        found = dict(schema.get("properties", {}))
        for part in (*schema.get("allOf", ()), *schema.get("anyOf", ()), *schema.get("oneOf", ())):
            found |= self._properties(part)
        return found

    def _filled(self, schema: Any) -> Any:
        """Return the least value that a schema takes."""
        schema = self._resolved(schema)
        if "enum" in schema:
            return schema["enum"][0]
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return self._filled(schema[several][0])
        if "allOf" in schema:
            made: dict[str, Any] = {}
            for part in schema["allOf"]:
                made |= self._filled(part)
            return made
        kind = schema.get("type")
        kind = kind[0] if isinstance(kind, list) else kind
        if kind == "object" or "properties" in schema:
            required = schema.get("required", ())
            return {name: self._filled(schema["properties"][name]) for name in required}
        plain = {"array": [], "integer": 1, "number": 1, "boolean": False, "null": None}
        return plain.get(kind, FORMATS.get(schema.get("format", ""), "x"))

    def _resolved(self, node: Any) -> Any:
        while "$ref" in node:
            found = self._whole
            for part in node["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            node = found
        return node

    def _validate(self, schema: Any, value: Any) -> None:
        key = json.dumps(schema, sort_keys=True)
        if key not in self._validators:
            whole = {"components": self._whole["components"], "allOf": [schema]}
            self._validators[key] = jsonschema_rs.validator_for(whole)
        self._validators[key].validate(value)


@cache
def described(name: str) -> Description:
    """Return GitHub's description, or Gitea's: that one requires nothing, so it is closed."""
    return Description(name, closed=name == "gitea")


def _plain(node: Any, *, closed: bool) -> Any:
    """Return an OpenAPI schema as a JSON schema: `nullable` becomes one more type."""
    if isinstance(node, list):
        return [_plain(one, closed=closed) for one in node]
    if not isinstance(node, dict):
        return node
    made = {key: _plain(value, closed=closed) for key, value in node.items() if key != "nullable"}
    if closed and isinstance(made.get("properties"), dict) and made.get("type") == "object":
        made["additionalProperties"] = False
    if node.get("nullable") is not True:
        return made
    return {"anyOf": [made, {"type": "null"}]}
