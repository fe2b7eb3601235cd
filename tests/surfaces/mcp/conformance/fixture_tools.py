"""The tools that the conformance suite calls by name. They are in no installation."""

from typing import Annotated

from msgspec import Meta

from atoll.domain.errors import Failed
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.tools.answer import Answer
from atoll.domain.tools.tool import READS
from atoll.services.people.organizations import MemberChange
from atoll.surfaces.mcp.definition import Arguments, Call, Namespace
from atoll.wire.words.people import OrgRole

MEMBER = "ada"
"""The member whose token the suite is given."""

test = Namespace("test")


class NoArguments(Arguments, frozen=True):
    """No arguments."""


class HeaderArguments(Arguments, frozen=True):
    """Arguments of which one stands in a header, too (SEP-2243)."""

    region: Annotated[
        str, Meta(description="A region.", extra_json_schema={"x-mcp-header": "Region"})
    ]


@test.tool("simple-text", Capability.EVENT_READ, READS)
async def simple_text(call: Call, arguments: NoArguments) -> Answer:
    """Return a simple text."""
    return Answer({"text": "This is a simple text response for testing."})


@test.tool("error-handling", Capability.EVENT_READ, READS)
async def error_handling(call: Call, arguments: NoArguments) -> Answer:
    """Fail."""
    raise Failed("This tool intentionally returns an error for testing")


@test.tool("logging-tool", Capability.EVENT_READ, READS)
async def logging_tool(call: Call, arguments: NoArguments) -> Answer:
    """Log nothing to anybody, as every tool here."""
    return Answer({})


@test.tool("streaming-elicitation", Capability.EVENT_READ, READS)
async def streaming_elicitation(call: Call, arguments: NoArguments) -> Answer:
    """Ask the client for nothing, as every tool here."""
    return Answer({})


@test.tool("header", Capability.EVENT_READ, READS)
async def header(call: Call, arguments: HeaderArguments) -> Answer:
    """Return the argument."""
    return Answer({"region": arguments.region})


@test.tool("trigger-tool-change", Capability.EVENT_READ, READS)
async def trigger_tool_change(call: Call, arguments: NoArguments) -> Answer:
    """Give the caller another role: a member may call more than a viewer."""
    organizations = call.atoll.tenancy.organizations
    members = await organizations.members(LOCAL_PERSON, call.caller.org_id)
    (role,) = [one.role for one in members if one.id == MEMBER]
    other = OrgRole.VIEWER if role is OrgRole.MEMBER else OrgRole.MEMBER
    change = MemberChange(role=other)
    await organizations.change_member(LOCAL_PERSON, call.caller.org_id, MEMBER, change)
    return Answer({"role": other.value})
