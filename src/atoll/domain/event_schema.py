"""JSON Schemas (2020-12) of every kind of event, generated from `domain.event_kind.KINDS`.

A field means the same in every kind, so its type is said once here, unless a kind is an exception.
What is not listed is a string.
"""

from collections.abc import Mapping

from atoll.domain.event import Json
from atoll.domain.event_kind import KINDS
from atoll.domain.event_kinds.kind import EventKind

_INTEGER: Json = {"type": "integer"}
_BOOLEAN: Json = {"type": "boolean"}
_STRING: Json = {"type": "string"}
_STRING_OR_NULL: Json = {"type": ["string", "null"]}
_INTEGER_OR_NULL: Json = {"type": ["integer", "null"]}
_STRINGS: Json = {"type": "array", "items": {"type": "string"}}
_OBJECTS: Json = {"type": "array", "items": {"type": "object"}}
_EXIT: Json = {"type": ["object", "null"], "description": "`code` or `signal`"}

_INTEGERS = (
    *("before", "bytes", "commits", "dashboards", "decisions", "epoch", "generation"),
    *("instructions_id", "minus", "more", "ms"),
    *("n", "plus", "port", "pr_number", "repo", "retired", "sandboxes", "secrets", "size", "turns"),
    *("after", "attempt", "dead", "deliveries", "event_position", "pull", "unrecorded", "up_to"),
    *("amount_micros", "percent", "spent_micros"),
)
_TYPES: Mapping[str, Json] = {
    **dict.fromkeys(_INTEGERS, _INTEGER),
    **dict.fromkeys(
        (
            *(
                "asks",
                "at_once",
                "background",
                "begins",
                "enabled",
                "exposed",
                "in_use",
                "terminals",
            ),
            *("timed_out", "words", "asleep"),
        ),
        _BOOLEAN,
    ),
    **dict.fromkeys(
        (
            *("allowed", "argv", "capabilities", "denied", "exposed_to", "leftovers", "names"),
            *("pushed", "ranges", "readers", "uris"),
        ),
        _STRINGS,
    ),
    **dict.fromkeys(("options", "places", "trees"), _OBJECTS),
    **dict.fromkeys(("terminal_id", "until"), _STRING_OR_NULL),
    "exit": _EXIT,
    "consumer": {
        "type": "object",
        "description": "`actor`, `harness`, and its session, run or job",
    },
    "resources": {"type": "object", "description": "`cpu`, `memory_mb` and `workspace_mb`"},
    "data": {"type": "object"},
    "bounds": {"type": "object"},
    "pool": {"type": "object"},
    "quota": {"type": "object"},
    "terms": {"type": "object", "description": "the fields of a budget, as it was set"},
    "host_ports": {"type": "array", "items": _INTEGER},
    "removed": _STRINGS,
    "version": _INTEGER_OR_NULL,
}
_EXCEPTIONS: Mapping[tuple[str, str], Json] = {
    ("agent.installed", "version"): _STRING,
    ("work.reviewed", "mark"): _STRING_OR_NULL,
    ("work.changed", "work_state"): _STRING_OR_NULL,
    ("work.changed", "before"): _STRING_OR_NULL,
    ("member.changed", "before"): _STRING,
    ("profile.saved", "version"): _STRING,
    ("profile.deleted", "version"): _STRING_OR_NULL,
}


def payload_schema(kind: EventKind) -> dict[str, Json]:
    """Return the schema of a kind's payload."""
    named = sorted((kind.fields | kind.optional) - {"*"})
    return {
        "type": "object",
        "properties": {name: _type_of(kind, name) for name in named},
        "required": [*sorted(kind.fields)],
        "additionalProperties": "*" in kind.optional,
    }


def envelope_schema(kind: EventKind) -> dict[str, Json]:
    """Return the schema of a whole event of this kind, as the API sends it."""
    text: Json = {"type": "string"}
    properties: dict[str, Json] = {
        "id": text,
        "position": {"type": "integer", "minimum": 1},
        "stream": text,
        "seq": {"type": "integer", "minimum": 1},
        "event_type": {"const": kind.name},
        "event_version": {"const": kind.version},
        "at": {"type": "string", "format": "date-time"},
        "org_id": text,
        "actor": {
            "type": "object",
            "properties": {"kind": {"enum": ["adm", "agt", "atm"]}, "id": text},
            "required": ["kind", "id"],
            "additionalProperties": False,
        },
        "reason": {"type": ["string", "null"]},
        "payload": payload_schema(kind),
    }
    return {
        "title": kind.name,
        "description": kind.text,
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def event_schemas() -> dict[str, Json]:
    """Return one document: any event, with a definition for each kind by its name."""
    kinds = sorted(KINDS.values(), key=lambda one: one.name)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Atoll event",
        "oneOf": [{"$ref": f"#/$defs/{kind.name}"} for kind in kinds],
        "$defs": {kind.name: envelope_schema(kind) for kind in kinds},
    }


def _type_of(kind: EventKind, name: str) -> Json:
    return _EXCEPTIONS.get((kind.name, name)) or _TYPES.get(name, _STRING)
