"""Google's own description of Drive: what a request may be, and what its answers look like.

It is the discovery document that the package `google-api-python-client` has. A request that the
document does not describe fails the test; so does an answer of the scripted drive.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs

Method = Mapping[str, Any]
_WORDS = re.compile(r"[A-Za-z]+|[(),/]")
_KEPT = ("type", "properties", "items", "enum", "$ref", "additionalProperties")


class Description:
    """A discovery document, version 1."""

    def __init__(self, text: str) -> None:
        self.whole = json.loads(text)
        self._schemas = {name: _plain(one) for name, one in self.whole["schemas"].items()}

    @property
    def api(self) -> str:
        """The address of the interface."""
        return str(self.whole["rootUrl"]).rstrip("/")

    def method(self, verb: str, path: str) -> tuple[Method, dict[str, str], bool]:
        """Return the method of a path, its parameters there, and whether it takes media."""
        for resource in self.whole["resources"].values():
            for one in resource.get("methods", {}).values():
                plain = f"/{self.whole['servicePath']}{one['path']}"
                media = one.get("mediaUpload", {}).get("protocols", {}).get("simple", {})
                for template, uploads in ((plain, False), (media.get("path", ""), True)):
                    found = _match(template, path)
                    if one["httpMethod"] == verb and found is not None:
                        return one, found, uploads
        raise AssertionError(f"the document describes no {verb} {path}")

    def check_request(
        self, method: Method, placed: Mapping[str, str], query: Mapping[str, str], body: Any
    ) -> None:
        """Fail for a parameter, value or body that the method does not have, or lacks."""
        known = {**self.whole["parameters"], **method["parameters"]}
        for name, value in query.items():
            assert name in known, f"{method['id']} has no parameter {name}"
            assert known[name]["location"] == "query"
            _check_value(name, value, known[name])
        needed = {name for name, one in known.items() if one.get("required")}
        assert needed <= {*query, *placed}, f"{method['id']} lacks {needed - {*query, *placed}}"
        if query.get("alt") == "media":
            assert method.get("supportsMediaDownload")
        if "fields" in query and "response" in method:
            self._check_fields(query["fields"], method["response"]["$ref"])
        if "request" in method:
            self._validate(method["request"]["$ref"], body)
        else:
            assert body is None

    def check_scopes(self, method: Method, scopes: frozenset[str]) -> None:
        """Fail when none of the scopes allows the method."""
        assert scopes & set(method["scopes"]), f"{method['id']} needs another scope"

    def check_answer(self, method: Method, value: Any) -> None:
        """Fail for an answer that the method does not give."""
        self._validate(method["response"]["$ref"], value)

    def _validate(self, name: str, value: Any) -> None:
        whole = {"$defs": self._schemas, "$ref": f"#/$defs/{name}"}
        jsonschema_rs.validator_for(whole).validate(value)

    def _check_fields(self, text: str, name: str) -> None:
        """Fail for a selector that names what the answer does not have."""
        assert "".join(_WORDS.findall(text)) == text
        stack, last = [self._schemas[name]], self._schemas[name]
        for word in _WORDS.findall(text):
            if word == "(":
                stack.append(last)
            elif word == ")":
                stack.pop()
            elif word != ",":
                assert word in stack[-1]["properties"], f"no field {word} in {text}"
                last = self._inner(stack[-1]["properties"][word])

    def _inner(self, schema: Any) -> Any:
        schema = schema.get("items", schema)
        name = schema.get("$ref", "").rpartition("/")[2]
        return self._schemas[name] if name else schema


@cache
def described() -> Description:
    """Return the description of Drive v3."""
    place = files("googleapiclient") / "discovery_cache/documents/drive.v3.json"
    return Description(place.read_text())


def host_of(url: str) -> str:
    """Return the host of an address."""
    return urlsplit(url).hostname or ""


def _match(template: str, path: str) -> dict[str, str] | None:
    wanted, given = template.split("/"), path.split("/")
    if not template or len(wanted) != len(given):
        return None
    found = {}
    for one, part in zip(wanted, given, strict=True):
        if one.startswith("{"):
            found[one.strip("{}")] = part
        elif one != part:
            return None
    return found


def _check_value(name: str, value: str, schema: Mapping[str, Any]) -> None:
    assert "enum" not in schema or value in schema["enum"], f"{name}={value}"
    if schema["type"] == "integer":
        assert int(schema.get("minimum", 0)) <= int(value) <= int(schema.get("maximum", 2**31))
    if schema["type"] == "boolean":
        assert value in ("true", "false"), f"{name}={value}"


def _plain(node: Any) -> Any:
    """Return a discovery schema as a JSON schema; an object has no other fields than its own."""
    made = {key: node[key] for key in _KEPT if key in node}
    if "$ref" in made:
        return {"$ref": f"#/$defs/{made['$ref']}"}
    if "properties" in made:
        made["properties"] = {name: _plain(one) for name, one in made["properties"].items()}
        made["additionalProperties"] = False
    elif "additionalProperties" in made:
        made["additionalProperties"] = _plain(made["additionalProperties"])
    if "items" in made:
        made["items"] = _plain(made["items"])
    if made.get("type") == "any":
        del made["type"]
    return made
