"""Review threads: their bounds, hostile text, and who may do what with a remark."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import Forbidden, Invalid, LimitReached, NotFound
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId, SandboxId, ShareId, TerminalId
from atoll.domain.people.capability import EVERY_CAPABILITY, capabilities_of
from atoll.domain.people.principal import GuestAccess, Principal
from atoll.domain.work.anchor import Anchor
from atoll.domain.work.thread import (
    MAX_REMARKS,
    Author,
    Remark,
    RemarkId,
    Resolution,
    ReviewThread,
    ThreadId,
    ThreadSending,
    author_of,
    check_may_comment,
    check_room_for_thread,
    is_unsent,
    mark_as_sent,
    read_remark,
    reopen,
    reply,
    resolve,
    reword,
    unknown_thread,
    withdraw,
)
from atoll.testing.samples import sandbox
from atoll.wire.words.events import ActorKind
from atoll.wire.words.library import MAX_REMARK_BYTES, MAX_THREADS, Side
from atoll.wire.words.people import OrgRole
from atoll.wire.words.terminals import Role

AT = datetime(2026, 1, 1, tzinfo=UTC)
LATER = AT + timedelta(hours=1)


def person(name: str, role: OrgRole = OrgRole.MEMBER, org: OrgId = PERSONAL_ORG) -> Principal:
    return Principal(org, PrincipalId(name), ActorKind.PERSON, capabilities=capabilities_of(role))


ANN, BOB, EVE = person("ann"), person("bob"), person("eve")
ADMIN = person("root", OrgRole.ADMIN)
STRANGER = person("root", OrgRole.ADMIN, OrgId("other"))
BOX = replace(sandbox("one"), org_id=PERSONAL_ORG, owner=ANN.id)


def remark(name: str, author: Principal) -> Remark:
    return Remark(RemarkId(name), Author(author.id, author.id.title()), "Why?", AT)


FIRST, SECOND = remark("rmk_1", BOB), remark("rmk_2", EVE)
THREAD = ReviewThread(
    ThreadId("thr_1"), SandboxId(BOX.id), PERSONAL_ORG, Anchor(0, "a", Side.NEW, 1, ("x",)), AT,
    (FIRST, SECOND),
)  # fmt: skip
SENDING = ThreadSending(author_of(ANN), TerminalId("t_1"), "codex", LATER)


def test_hostile_text_is_spelled() -> None:
    assert read_remark(" a\u202eb\x1b[2J\r\n\tc\u2800 \n") == "a\\u202eb\\x1b[2J\n\tc\\u2800"
    assert read_remark("<b>é</b>") == "<b>é</b>"
    assert read_remark("\ud800") == "\\ud800"


@pytest.mark.parametrize("text", ["", " \r\n\t ", "x" * (MAX_REMARK_BYTES + 1), "\u202e" * 4000])
def test_text_out_of_bounds_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_remark(text)
    assert refused.value.field == "text"


def test_threads_and_remarks_are_bounded() -> None:
    check_room_for_thread(MAX_THREADS - 1)
    with pytest.raises(LimitReached):
        check_room_for_thread(MAX_THREADS)
    almost = replace(THREAD, remarks=(FIRST,) * (MAX_REMARKS - 1))
    full = reply(almost, SECOND)
    assert full.remarks[-1] == SECOND
    with pytest.raises(LimitReached):
        reply(full, SECOND)


def test_author_alone_rewords() -> None:
    after = reword(BOB, THREAD, "rmk_1", " Because. ", LATER)
    assert after.remarks == (replace(FIRST, text="Because.", edited_at=LATER), SECOND)
    for other in (ANN, EVE, ADMIN):
        with pytest.raises(Forbidden):
            reword(other, THREAD, "rmk_1", "mine", LATER)


@pytest.mark.parametrize("caller", [BOB, ANN, ADMIN])
def test_author_and_managers_withdraw(caller: Principal) -> None:
    after = withdraw(caller, BOX, THREAD, "rmk_1")
    assert after == replace(THREAD, remarks=(SECOND,))
    assert withdraw(caller, BOX, replace(THREAD, remarks=(FIRST,)), "rmk_1") is None


@pytest.mark.parametrize("caller", [EVE, STRANGER])
def test_others_do_not_withdraw(caller: Principal) -> None:
    with pytest.raises(Forbidden):
        withdraw(caller, BOX, THREAD, "rmk_1")


def test_unknown_ones_are_named_in_part() -> None:
    with pytest.raises(NotFound):
        reword(BOB, THREAD, "rmk_9", "x", LATER)
    with pytest.raises(NotFound):
        withdraw(ANN, BOX, THREAD, "rmk_9")
    assert len(unknown_thread("x" * 1000).message) < 200


def test_thread_is_bounded_as_a_whole() -> None:
    long = replace(FIRST, text="x" * MAX_REMARK_BYTES)
    full = reply(replace(THREAD, remarks=(long,)), long)
    with pytest.raises(LimitReached):
        reply(full, SECOND)
    room = replace(THREAD, remarks=(long, SECOND, replace(FIRST, id=RemarkId("rmk_3"))))
    with pytest.raises(LimitReached):
        reword(BOB, room, "rmk_3", "x" * MAX_REMARK_BYTES, LATER)


def test_same_words_are_no_edit() -> None:
    assert reword(BOB, THREAD, "rmk_1", " Why? ", LATER) is THREAD


def test_settled_thread_stays_settled_as_it_is_and_opens_again_unsent() -> None:
    settled = resolve(mark_as_sent(THREAD, SENDING), Resolution(author_of(EVE), LATER))
    assert settled.resolved == Resolution(Author(EVE.id, ""), LATER)
    assert resolve(settled, Resolution(author_of(ANN), AT)) is settled
    assert reopen(settled) == THREAD
    assert reopen(THREAD) is THREAD


def test_thread_waits_to_be_sent_until_an_agent_has_all_of_it() -> None:
    sent = mark_as_sent(THREAD, SENDING)
    assert is_unsent(THREAD)
    assert not is_unsent(sent)
    later = LATER + timedelta(seconds=1)
    assert is_unsent(reply(sent, replace(SECOND, at=later)))
    assert is_unsent(reword(EVE, sent, "rmk_2", "Because.", later))
    assert not is_unsent(resolve(THREAD, Resolution(author_of(ANN), AT)))


GUEST = GuestAccess(
    PERSONAL_ORG, ANN.id, ShareId("sh"), SandboxId(BOX.id), None, Role.CONTROLLER, LATER
)


@pytest.mark.parametrize("role", [OrgRole.OWNER, OrgRole.ADMIN, OrgRole.MEMBER])
def test_people_who_work_comment(role: OrgRole) -> None:
    check_may_comment(person("ann", role))


@pytest.mark.parametrize(
    "caller",
    [
        person("ann", OrgRole.VIEWER),
        replace(ANN, capabilities=EVERY_CAPABILITY, guest_access=GUEST),
        replace(ANN, kind=ActorKind.AGENT),
        replace(ANN, capabilities=frozenset()),
    ],
)
def test_viewers_guests_and_agents_do_not_comment(caller: Principal) -> None:
    with pytest.raises(Forbidden):
        check_may_comment(caller)
