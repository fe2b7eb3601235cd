from dataclasses import replace

import pytest

from atoll.domain.people.capability import Capability
from atoll.domain.tools.offer import HOME, REASONS, ToolOffer, ToolReach, offer_of
from atoll.domain.tools.rule import ProfileTools
from atoll.domain.tools.tool import READS, Effects, Tool
from atoll.wire.words.agents import ToolMissing, ToolRule
from tests.domain.tools.test_tool import INSIDE, READER

TOOL = Tool("flux.status", "Say.", Capability.SANDBOX_READ, READS, inside=Capability.SANDBOX_READ)
FAR = replace(TOOL, effects=Effects(outside=True))
ALL = ProfileTools()
AGENT = replace(READER, token=INSIDE)


@pytest.mark.parametrize(
    ("tool", "profile", "reach", "missing"),
    [
        (TOOL, ALL, HOME, None),
        (replace(TOOL, inside=None), ALL, HOME, ToolMissing.NOT_INSIDE),
        (FAR, ALL, HOME, ToolMissing.NOT_CONFIGURED),
        (FAR, ALL, ToolReach(("flu", "gitea")), ToolMissing.NOT_CONFIGURED),
        (FAR, ALL, ToolReach(("flux",)), None),
        (TOOL, ProfileTools(enabled=False), HOME, ToolMissing.TOOLS_OFF),
        (TOOL, ProfileTools(namespaces=()), HOME, ToolMissing.NOT_IN_PROFILE),
        (TOOL, ProfileTools(namespaces=("flux",)), HOME, None),
        (
            TOOL,
            ProfileTools(rules={"flux.status": ToolRule.DENY}),
            HOME,
            ToolMissing.DENIED_BY_PROFILE,
        ),
        (
            replace(TOOL, inside=Capability.SECRET_MANAGE),
            ALL,
            HOME,
            ToolMissing.NO_PERMISSION,
        ),
    ],
)
def test_reason_of_a_missing_tool_is_the_first_that_holds(
    tool: Tool, profile: ProfileTools, reach: ToolReach, missing: ToolMissing | None
) -> None:
    rule = ToolRule.ALLOW if missing is None else ToolRule.DENY
    assert offer_of(tool, AGENT, profile, reach) == ToolOffer(tool, rule, missing)


def test_tool_that_a_person_decides_is_there() -> None:
    asked = replace(TOOL, effects=Effects(destructive=True))
    assert offer_of(asked, AGENT, ALL, HOME) == ToolOffer(asked, ToolRule.ASK, None)


def test_namespaces_below_a_configured_one_are_there() -> None:
    below = replace(FAR, name="sandbox.stripe.list")
    assert ToolReach(("sandbox",)).includes(below)
    assert ToolReach(("sandbox.stripe",)).includes(below)
    assert not ToolReach(("sandbox.str",)).includes(below)


def test_every_reason_has_words() -> None:
    assert set(REASONS) == set(ToolMissing)
