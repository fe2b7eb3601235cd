"""What every tool of this installation keeps, so that agents can call it."""

import json
import re
from typing import Any

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.surfaces.mcp.definition import ToolDefinition
from atoll.surfaces.mcp.toolbox import toolbox

TOOLS = toolbox().all()
MAX_ALL_BYTES = 40 * 1024
MAX_OWN_BYTES = 8 * 1024
"""Of a sandbox with nothing configured: the schemas are in every prompt."""


def _bytes(tools: list[ToolDefinition[Any]]) -> int:
    shown = [[one.tool.name, one.tool.description, one.schema()] for one in tools]
    return len(json.dumps(shown))


def test_schemas_of_all_tools_are_small() -> None:
    assert _bytes(list(TOOLS)) <= MAX_ALL_BYTES
    own = [one for one in TOOLS if one.tool.shown_to(LOCAL_PERSON)]
    assert _bytes(own) <= MAX_OWN_BYTES


@pytest.mark.parametrize("one", TOOLS, ids=lambda one: one.tool.name)
def test_schema_is_an_object_of_plain_fields(one: ToolDefinition[Any]) -> None:
    schema = one.schema()
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert "$ref" not in json.dumps(schema)
    for field in schema["properties"].values():
        assert re.match(r"[A-Z]", field["description"])


@pytest.mark.parametrize("one", TOOLS, ids=lambda one: one.tool.name)
def test_arguments_that_are_wrong_are_refused(one: ToolDefinition[Any]) -> None:
    with pytest.raises(Invalid, match="unknown field"):
        one.read({"no_such": 1} | dict.fromkeys(one.schema().get("required", ()), "x"))
    for name in one.schema()["properties"]:
        with pytest.raises(Invalid) as wrong:
            one.read({name: {"an": "object"}})
        assert wrong.value.message.startswith(one.tool.name)
