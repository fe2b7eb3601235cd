"""Review threads: their bounds, hostile text, and who may do what with a remark."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import Forbidden, Invalid, LimitReached, NotFound
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId, SandboxId
from atoll.domain.people.capability import capabilities_of
from atoll.domain.people.principal import Principal
from atoll.domain.work.anchor import Anchor, Side
from atoll.domain.work.thread import (
    MAX_REMARK_BYTES,
    MAX_REMARKS,
    MAX_THREADS,
    Remark,
    RemarkId,
    ReviewThread,
    ThreadId,
    check_room_for_thread,
    read_remark,
    reply,
    reword,
    unknown_thread,
    withdraw,
)
from atoll.testing.samples import sandbox
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole

AT = datetime(2026, 1, 1, tzinfo=UTC)
LATER = AT + timedelta(hours=1)


def person(name: str, role: OrgRole = OrgRole.MEMBER, org: OrgId = PERSONAL_ORG) -> Principal:
    return Principal(org, PrincipalId(name), ActorKind.PERSON, capabilities=capabilities_of(role))


ANN, BOB, EVE = person("ann"), person("bob"), person("eve")
ADMIN = person("root", OrgRole.ADMIN)
STRANGER = person("root", OrgRole.ADMIN, OrgId("other"))
BOX = replace(sandbox("one"), org_id=PERSONAL_ORG, owner=ANN.id)


def remark(name: str, author: Principal) -> Remark:
    return Remark(RemarkId(name), author.id, author.id.title(), "Why?", AT)


FIRST, SECOND = remark("rmk_1", BOB), remark("rmk_2", EVE)
THREAD = ReviewThread(
    ThreadId("thr_1"), SandboxId(BOX.id), PERSONAL_ORG, Anchor(0, "a", Side.NEW, 1, ("x",)),
    (FIRST, SECOND),
)  # fmt: skip


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
