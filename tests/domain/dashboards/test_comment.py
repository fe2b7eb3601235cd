"""Comments on a dashboard: their bounds, and who may do what with one."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from atoll.domain.dashboards.comment import (
    MAX_COMMENTS,
    CommentId,
    DashboardComment,
    check_comments,
    check_mentioned,
    check_removes,
    check_resolves,
    check_room,
    read_comment,
    read_item_id,
    read_mentions,
    unknown_comment,
)
from atoll.domain.dashboards.dashboard import Dashboard, DashboardPerson
from atoll.domain.errors import Forbidden, Invalid, LimitReached
from atoll.domain.ids import PERSONAL_ORG, DashboardId, OrgId, PrincipalId, ShareId
from atoll.domain.people.capability import capabilities_of
from atoll.domain.people.principal import GuestAccess, Principal
from atoll.wire.words.dashboards import DashboardRole, DashboardScope
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole
from atoll.wire.words.terminals import Role

AT = datetime(2026, 1, 1, tzinfo=UTC)
ITEM = "itm_0123456789abcdef"


def person(name: str, role: OrgRole = OrgRole.MEMBER) -> Principal:
    return Principal(
        PERSONAL_ORG, PrincipalId(name), ActorKind.PERSON, capabilities=capabilities_of(role)
    )


ANN, BOB, EVE = person("ann"), person("bob"), person("eve")
ADMIN = person("root", OrgRole.ADMIN)
BOARD = Dashboard(
    DashboardId("dsh_1"), PERSONAL_ORG, ANN.id, "Plan", DashboardScope.PRIVATE, AT, AT,
    people=(
        DashboardPerson("bob", DashboardRole.EDITOR, AT),
        DashboardPerson("eve", DashboardRole.VIEWER, AT),
    ),
)  # fmt: skip


def by(author: Principal) -> DashboardComment:
    return DashboardComment(
        CommentId("cmt_1"), BOARD.id, PERSONAL_ORG, ITEM, author.id, "Name", "text", AT
    )


def test_comment_is_text_of_bounded_length() -> None:
    assert read_comment(" a\r\n\tb 👩‍🚀 ") == "a\n\tb 👩‍🚀"
    assert read_comment("é" * 2048) == "é" * 2048
    for text in ("", " \n", "a\x00b", "a\x1b[2J", "\ud800", "é" * 2049):
        with pytest.raises(Invalid) as refused:
            read_comment(text)
        assert refused.value.field == "text"


def test_comment_names_an_item() -> None:
    assert read_item_id(ITEM) == ITEM
    for text in ("", "itm_", ITEM + "0", ITEM + "\n", ITEM.upper()):
        with pytest.raises(Invalid):
            read_item_id(text)


def test_mentioned_people_are_few_and_see_the_dashboard() -> None:
    assert read_mentions(["bob", "eve", "bob"]) == ("bob", "eve")
    assert len(read_mentions([f"p{one}" for one in range(20)])) == 20
    with pytest.raises(Invalid):
        read_mentions([f"p{one}" for one in range(21)])
    check_mentioned(BOARD, (ANN, BOB, EVE))
    check_mentioned(replace(BOARD, scope=DashboardScope.SHARED), (person("any"),))
    told = set()
    for stranger in (person("mallory"), replace(BOB, org_id=OrgId("other")), None):
        with pytest.raises(Invalid) as refused:
            check_mentioned(BOARD, (BOB, stranger))
        told.add(refused.value.message)
    assert len(told) == 1


def test_dashboard_has_a_bounded_number_of_comments() -> None:
    check_room(ANN, MAX_COMMENTS - 1)
    with pytest.raises(LimitReached):
        check_room(ANN, MAX_COMMENTS)


def test_guest_comments_by_a_link_that_edits() -> None:
    access = GuestAccess(
        PERSONAL_ORG, ANN.id, ShareId("s"), None, None, Role.VIEWER, AT, dashboard_id=BOARD.id
    )
    with pytest.raises(Forbidden, match="look at"):
        check_comments(replace(ANN, guest_access=access))
    guest = replace(ANN, guest_access=replace(access, role=Role.CONTROLLER))
    for caller in (ANN, guest):
        check_comments(caller)
    check_room(guest, MAX_COMMENTS // 2 - 1)
    with pytest.raises(LimitReached):
        check_room(guest, MAX_COMMENTS // 2)


def test_author_and_editors_resolve() -> None:
    check_resolves(ANN, BOARD, by(EVE))
    check_resolves(BOB, BOARD, by(EVE))
    check_resolves(EVE, BOARD, by(EVE))
    for caller in (EVE, person("mallory")):
        with pytest.raises(Forbidden):
            check_resolves(caller, BOARD, by(BOB))


def test_author_and_who_manages_the_dashboard_delete() -> None:
    check_removes(ANN, BOARD, by(EVE))
    check_removes(ADMIN, BOARD, by(EVE))
    check_removes(EVE, BOARD, by(EVE))
    with pytest.raises(Forbidden):
        check_removes(BOB, BOARD, by(EVE))


def test_unknown_comment_is_named_in_part() -> None:
    assert len(unknown_comment("x" * 999).message) < 150
