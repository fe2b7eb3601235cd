from dataclasses import replace
from datetime import UTC, datetime

import pytest

from atoll.domain.errors import Forbidden
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.people.capability import SOVEREIGN_ADMIN, Capability, admin_role
from atoll.domain.people.principal import Principal, TokenAccess
from atoll.domain.tools.rule import default_rule
from atoll.domain.tools.tool import (
    ORG_ADMIN,
    READS,
    Effects,
    Tool,
    check_distinct,
    check_permission,
    flat_name,
    has_permission,
)
from atoll.wire.words.agents import ToolRule
from atoll.wire.words.events import ActorKind

TOOL = Tool("atoll.list", "List.", Capability.SANDBOX_READ, READS)
INSIDE = TokenAccess("sandbox:sb_a", datetime(2026, 1, 1, tzinfo=UTC), SandboxId("sb_a"))
NOBODY = Principal(OrgId("acme"), PrincipalId("ada"), ActorKind.PERSON)
READER = replace(NOBODY, capabilities=frozenset({Capability.SANDBOX_READ}))


def test_tool_is_shown_to_who_has_its_permission() -> None:
    assert TOOL.shown_to(READER)
    assert not TOOL.shown_to(NOBODY)
    assert TOOL.namespace == "atoll"


def test_tool_is_shown_inside_only_when_it_says_so() -> None:
    inside = replace(READER, token=INSIDE)
    assert not TOOL.shown_to(inside)
    children = replace(TOOL, inside=Capability.SANDBOX_CHILDREN)
    assert not children.shown_to(inside)
    capable = replace(inside, capabilities=frozenset({Capability.SANDBOX_CHILDREN}))
    assert children.shown_to(capable) and not TOOL.shown_to(capable)


def test_permission_that_is_missing_inside_is_the_one_of_inside() -> None:
    children = replace(TOOL, inside=Capability.SANDBOX_CHILDREN)
    with pytest.raises(Forbidden, match=r"needs the permission sandbox\.children"):
        check_permission(replace(READER, token=INSIDE), children)


def test_missing_permission_is_named() -> None:
    check_permission(READER, TOOL)
    with pytest.raises(Forbidden, match=r"needs the permission sandbox\.read"):
        check_permission(NOBODY, TOOL)


def test_role_is_a_permission_of_its_own_organization_alone() -> None:
    own = replace(NOBODY, roles=(admin_role(OrgId("acme")),))
    assert has_permission(own, ORG_ADMIN)
    assert not has_permission(replace(own, org_id=OrgId("other")), ORG_ADMIN)
    assert not has_permission(own, SOVEREIGN_ADMIN)
    assert has_permission(replace(NOBODY, roles=(SOVEREIGN_ADMIN,)), SOVEREIGN_ADMIN)


@pytest.mark.parametrize("name", ["list", "Atoll.list", "atoll.", "atoll.a b", f"a.{'x' * 51}"])
def test_name_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name of a tool"):
        Tool(name, "", Capability.SANDBOX_READ)


def test_permission_that_nobody_has_is_refused() -> None:
    with pytest.raises(ValueError, match="nobody can have"):
        Tool("atoll.list", "", "sandbox.fly")


def test_reading_tool_is_never_destructive() -> None:
    with pytest.raises(ValueError, match="read only and be destructive"):
        Tool("atoll.list", "", Capability.SANDBOX_READ, Effects(read_only=True, destructive=True))


def test_flat_names_have_no_dots_and_stay_distinct() -> None:
    assert flat_name("gitea-actions.run.logs") == "gitea_actions_run_logs"
    check_distinct(["a.b", "a.c"])
    with pytest.raises(ValueError, match=r"a\.b-c and a\.b\.c have one name"):
        check_distinct(["a.b-c", "a.b.c"])


def test_destructive_tool_is_asked_about_unless_the_profile_says_otherwise() -> None:
    drop = Tool("db.drop", "Drop.", Capability.FILE_WRITE, Effects(destructive=True))
    assert default_rule(drop) is ToolRule.ASK
    assert default_rule(TOOL) is ToolRule.ALLOW
