"""The JSON Schema of `.atoll.yaml` (json-schema.org, draft 2020-12), for editors and checkers.

`project_file` decides; the schema says the same as far as a schema can.
"""

from atoll.domain.event import Json
from atoll.domain.network.egress_rule import PRESETS
from atoll.domain.repository.project_file import (
    HOST_PATTERN,
    MAX_COMMAND,
    MAX_COMMANDS,
    MAX_COPIES,
    MAX_HOSTS,
    MAX_PORTS,
    MAX_SERVERS,
    MAX_VARIABLES,
    SERVER_PATTERN,
)


def project_schema() -> dict[str, Json]:
    """Return the schema."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Atoll project file (.atoll.yaml)",
        "type": "object",
        "additionalProperties": False,
        "properties": {**_proposal_fields(), **_defaults()},
    }


def _proposal_fields() -> dict[str, Json]:
    """Return the schema of the fields that a project proposes."""
    command: dict[str, Json] = {"type": "string", "minLength": 1, "maxLength": MAX_COMMAND}
    path: dict[str, Json] = {"type": "string", "minLength": 1, "maxLength": 1000}
    port: dict[str, Json] = {"type": "integer", "minimum": 1, "maximum": 65535}
    return {
        "setup": _list(
            "Shell commands that run inside, in order, when the workspace is ready.",
            {**command, "pattern": r"^[^\n]+$"},
            MAX_COMMANDS,
        ),
        "servers": {
            "description": "Shell commands that run as long as the sandbox does, by terminal.",
            "type": "object",
            "maxProperties": MAX_SERVERS,
            "propertyNames": {"pattern": SERVER_PATTERN},
            "additionalProperties": {**command, "pattern": r"^[^\n]+$"},
        },
        "copy": _list(
            "Files of the person's checkout to copy into the workspace.",
            {**path, "pattern": r"^[^/~\\]"},
            MAX_COPIES,
        ),
        "network": _list(
            "Package registries that the sandbox may reach, by preset, and hosts by https.",
            {"anyOf": [{"enum": [*sorted(PRESETS)]}, {"type": "string", "pattern": HOST_PATTERN}]},
            len(PRESETS) + MAX_HOSTS,
        ),
        "ports": _list("Ports of the sandbox that `atoll open` forwards.", port, MAX_PORTS),
        "env": {
            "description": "Variables inside; names that load code or hold keys are refused.",
            "type": "object",
            "maxProperties": MAX_VARIABLES,
            "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
            "additionalProperties": {"type": "string", "maxLength": MAX_COMMAND},
        },
    }


def _defaults() -> dict[str, Json]:
    return {
        "agent": {
            "description": "The agent to start, unless another is named.",
            "type": "string",
            "pattern": "^[a-z0-9][a-z0-9-]{0,39}$",
        },
        "profile": {
            "description": "The profile to use, unless another is named.",
            "type": "string",
            "pattern": r"^(profile\.)?[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$",
        },
    }


def _list(description: str, items: dict[str, Json], most: int) -> dict[str, Json]:
    return {"description": description, "type": "array", "maxItems": most, "items": items}
