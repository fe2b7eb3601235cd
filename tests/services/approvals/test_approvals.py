import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from atoll.domain.approvals.approval import (
    COOLDOWN,
    MAX_PENDING,
    MAX_PER_MINUTE,
    Approval,
    ApprovalGrant,
    ApprovalId,
    digest,
)
from atoll.domain.errors import AtollError, Conflict, Forbidden, LimitReached, NotFound
from atoll.domain.event import Event
from atoll.domain.ids import PrincipalId, ShareId
from atoll.domain.people.capability import capabilities_of
from atoll.domain.people.principal import LOCAL_PERSON, GuestAccess
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.secrets.secret import Secret, Use
from atoll.services.secrets import SetSecret
from atoll.wire.words.approvals import ApprovalState, GrantScope
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole
from atoll.wire.words.secrets import Purpose
from atoll.wire.words.terminals import Role
from tests.services.scene import Scene, scene
from tests.services.test_secrets import KEY, accepting, policies

TOKEN = replace(LOCAL_PERSON, interactive=False)
OTHER = replace(LOCAL_PERSON, id=PrincipalId("other"), capabilities=capabilities_of(OrgRole.MEMBER))
HOST = "api.example.com"


async def begun(s: Scene) -> tuple[Sandbox, Secret]:
    """A running sandbox with one custom secret."""
    accepting(s)
    secret = await s.secrets.set(LOCAL_PERSON, SetSecret("K", KEY, Use(Purpose.CUSTOM)))
    return await s.ready(name="box"), secret


def entry(n: int, kind: str, payload: Mapping[str, object]) -> dict[str, object]:
    return {"n": n, "at": "2026-01-01T12:00:00Z", "kind": kind, "payload": payload}


@pytest.mark.parametrize(
    ("agents", "expected"), [(0, ("atm", "atoll")), (1, ("agt", "t_0")), (2, ("agt", "sandbox"))]
)
async def test_ask_has_the_agent_that_runs_as_actor(agents: int, expected: tuple[str, str]) -> None:
    async with scene() as s:
        sandbox, secret = await begun(s)
        for n in range(agents):
            told: dict[str, object] = {"id": f"t_{n}", "agent": "codex", "mode": "tui"}
            s.runtime.journal.append(entry(n + 1, "agent.started", told))
        wants(s, secret)
        await collected(s)
        events = await s.events.list(LOCAL_PERSON, stream=f"sandbox:{sandbox.id}")
        (asked,) = [one for one in events if one.event_type == "approval.asked"]
        kind, who = expected
        assert asked.actor_kind == kind
        assert asked.actor_id == (sandbox.id if who == "sandbox" else who)


@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        ("exec.started", "exec.exited"),
        ("terminal.opened", "terminal.exited"),
        ("terminal.adopted", "terminal.closed"),
    ],
)
async def test_what_runs_beside_a_command_or_shell_is_not_said_to_be_the_agents(
    begins: str, ends: str
) -> None:
    async with scene() as s:
        sandbox, secret = await begun(s)
        agent: dict[str, object] = {"id": "t_0", "agent": "codex", "mode": "tui"}
        shell: dict[str, object] = {"id": "t_1", "name": "bash", "argv0": "bash"}
        s.runtime.journal.append(entry(1, "terminal.opened", {**shell, "id": "t_0"}))
        s.runtime.journal.append(entry(2, "agent.started", agent))
        s.runtime.journal.append(entry(3, begins, shell))
        wants(s, secret)
        (during,) = await asked(s)
        async with s.store.read() as rows:
            # A command is none that a quota counts.
            count = await rows.sessions.count(sandbox.org_id, None)
            assert count == (1 if begins == "exec.started" else 2)
        s.runtime.journal.append(entry(5, ends, {**shell, "exit": {"code": 0}}))
        wants(s, secret, host="other.example.com")
        (after,) = [one for one in await asked(s) if one.id != during.id]
        assert during.requester.beside_command and not after.requester.beside_command
        events = await s.events.list(LOCAL_PERSON, stream=f"sandbox:{sandbox.id}")
        actors = [one.actor_id for one in events if one.event_type == "approval.asked"]
        assert actors == [sandbox.id, "t_0"]


async def test_request_of_a_sandbox_that_is_destroyed_waits_no_more() -> None:
    async with scene() as s:
        box, secret = await begun(s)
        wants(s, secret)
        runs(s, "make")
        found = await asked(s)
        assert len(found) == 2
        await s.sandboxes.destroy(LOCAL_PERSON, box.id)
        # At once, and not when somebody looks: whoever follows the log clears it from a phone.
        kinds = [one.event_type for one in await log_of(s, box)]
        assert kinds.count("approval.expired") == 2
        assert kinds.index("sandbox.destroying") < kinds.index("approval.expired")
        for one in found:
            with pytest.raises(Conflict):
                await s.approvals.approve(LOCAL_PERSON, one.id, yes(one, GrantScope.ONCE))
            with pytest.raises(Conflict):
                await s.approvals.confirmation(TOKEN, one.id)
        waiting = await s.approvals.list(LOCAL_PERSON, verdicts=(ApprovalState.PENDING,))
        assert list(waiting.rows) == []
        ended = await s.approvals.get(LOCAL_PERSON, found[0].id)
        assert (ended.verdict, ended.reason) == (ApprovalState.EXPIRED, "Its sandbox is gone.")


async def test_command_of_a_sandbox_that_stopped_or_began_anew_waits_no_more() -> None:
    async with scene() as s:
        box, secret = await begun(s)
        wants(s, secret)
        runs(s, "make")
        assert len(await asked(s)) == 2
        await s.sandboxes.stop(LOCAL_PERSON, box.id)
        ended = [one for one in await log_of(s, box) if one.event_type == "approval.expired"]
        assert [one.payload["kind"] for one in ended] == ["command"]
        left = await s.approvals.list(LOCAL_PERSON, verdicts=(ApprovalState.PENDING,))
        # The secret can be decided for when it runs again.
        assert [one.ask.__class__.__name__ for one in left.rows] == ["SecretAsk"]


async def test_command_whose_program_gave_up_waits_no_more() -> None:
    async with scene() as s:
        box, _ = await begun(s)
        for ask_id in ("ask_1", "ask_2"):
            runs(s, "make", ask_id=ask_id)
        assert len(await asked(s)) == 2
        s.runtime.journal.append(entry(3, "approval.withdrawn", {"ask_id": "ask_1"}))
        (left,) = await asked(s)
        assert left.requester.ask_id == "ask_2"
        over = await s.approvals.list(LOCAL_PERSON, verdicts=(ApprovalState.EXPIRED,))
        assert [one.reason for one in over.rows] == ["Its program waits no more."]
        assert (await s.kinds(box)).count("approval.expired") == 1


async def test_request_that_is_read_after_its_sandbox_went_asks_nobody() -> None:
    async with scene() as s:
        box, secret = await begun(s)
        wants(s, secret)
        runs(s, "make")
        # Its journal is read for the last time when it goes.
        await s.sandboxes.destroy(LOCAL_PERSON, box.id)
        await s.until(box, "destroyed")
        kinds = [one.event_type for one in await log_of(s, box)]
        assert "approval.asked" not in kinds or "approval.expired" in kinds
        waiting = await s.approvals.list(LOCAL_PERSON, verdicts=(ApprovalState.PENDING,))
        assert list(waiting.rows) == []


async def test_request_for_a_place_that_the_secret_has_by_now_waits_no_more() -> None:
    async with scene() as s:
        _, secret = await begun(s)
        await s.ready(name="other")
        wants(s, secret)
        one, _ = await asked(s)  # the runtimes of both report it
        await s.approvals.approve(LOCAL_PERSON, one.id, yes(one, GrantScope.ORGANIZATION))
        left = await s.approvals.list(LOCAL_PERSON, verdicts=(ApprovalState.PENDING,))
        assert list(left.rows) == []


async def log_of(s: Scene, box: Sandbox) -> Sequence[Event]:
    return await s.events.list(LOCAL_PERSON, stream=f"sandbox:{box.id}")


def wants(s: Scene, wanted: Secret, /, **changed: object) -> None:
    """The runtime reports that its sandbox wants to send the secret somewhere."""
    subject = {
        "secret": wanted.name,
        "secret_id": wanted.id,
        "version": wanted.version,
        "host": HOST,
        "port": 443,
        **changed,
    }
    told = {"ask_id": f"ask_{len(s.runtime.journal)}", "kind": "secret", "subject": subject}
    s.runtime.journal.append(entry(len(s.runtime.journal) + 1, "approval.asked", told))


def runs(s: Scene, *argv: str, ask_id: str = "ask_c") -> None:
    told = {"ask_id": ask_id, "kind": "command", "subject": {"argv": argv, "cwd": "/workspace"}}
    s.runtime.journal.append(entry(len(s.runtime.journal) + 1, "approval.asked", told))


async def collected(s: Scene) -> None:
    """Return when the control plane has taken in all of the journal."""
    last = len(s.runtime.journal)
    async with asyncio.timeout(60):
        while f'{{"n":{last}}}'.encode() not in [
            call.body for call in s.runtime.calls if call.path == "/journal/ack"
        ]:
            s.clock.turn(1)
            await asyncio.sleep(0.001)


async def asked(s: Scene) -> list[Approval]:
    await collected(s)
    found = await s.approvals.list(LOCAL_PERSON, verdicts=(ApprovalState.PENDING,))
    return list(found.rows)


def yes(approval: Approval, reach: GrantScope = GrantScope.SANDBOX) -> ApprovalGrant:
    return ApprovalGrant(reach, None, digest(approval))


async def test_question_becomes_an_approval_and_a_yes_reaches_the_runtime() -> None:
    async with scene() as s:
        box, secret = await begun(s)
        wants(s, secret)
        (one,) = await asked(s)
        assert one.requester.sandbox_id == box.id
        said = await s.approvals.approve(LOCAL_PERSON, one.id, yes(one))
        assert said.verdict is ApprovalState.GRANTED
        (told,) = policies(s)[-1].approvals
        assert (told.approval_id, told.secret_id, told.host, told.port, told.once, told.until) == (
            one.id, secret.id, HOST, 443, False, None,
        )  # fmt: skip
        await s.approvals.revoke(LOCAL_PERSON, one.id)
        assert policies(s)[-1].approvals == ()
        kinds = await s.kinds(box)
        assert [k for k in kinds if k.startswith("approval")] == [
            "approval.asked",
            "approval.granted",
            "approval.revoked",
        ]


async def test_yes_once_is_marked_and_used_up() -> None:
    async with scene() as s:
        box, secret = await begun(s)
        wants(s, secret)
        (one,) = await asked(s)
        await s.approvals.approve(LOCAL_PERSON, one.id, yes(one, GrantScope.ONCE))
        (told,) = policies(s)[-1].approvals
        assert told.once and told.until is not None
        s.runtime.journal.append(entry(2, "approval.used", {"approval_id": one.id}))
        await collected(s)
        assert (await s.approvals.get(LOCAL_PERSON, one.id)).verdict is ApprovalState.USED
        await s.within.policy_push.push_changes(box.org_id, None)
        assert policies(s)[-1].approvals == ()


async def test_yes_reaches_other_sandboxes_only_when_it_says_so() -> None:
    async with scene() as s:
        _, secret = await begun(s)
        for reach, count in ((GrantScope.SANDBOX, 1), (GrantScope.ORGANIZATION, 2)):
            wants(s, secret, host=f"{reach}.example.com")
            (one,) = await asked(s)
            await s.approvals.approve(LOCAL_PERSON, one.id, yes(one, reach))
            assert len(policies(s)[-1].approvals) == count
        await s.ready(name="second")
        assert [one.host for one in policies(s)[-1].approvals] == ["organization.example.com"]


async def test_yes_for_every_sandbox_ends_the_same_request_of_another_at_once() -> None:
    async with scene() as s:
        _, secret = await begun(s)
        wants(s, secret)
        (one,) = await asked(s)
        other = replace(one, id=ApprovalId("ap_of_another"))
        box = await s.ready(name="second")
        async with s.store.begin() as rows:
            theirs = replace(one.requester, sandbox_id=box.id)
            await rows.approvals.put(replace(other, requester=theirs))
        await s.approvals.approve(LOCAL_PERSON, one.id, yes(one, GrantScope.ORGANIZATION))
        # Before anybody looks: a page and a phone follow the log.
        assert "approval.expired" in await s.kinds(box)
        async with s.store.read() as rows:
            assert [each.id for each in await rows.approvals.waiting()] == []


async def test_same_question_is_put_once_and_counted() -> None:
    async with scene() as s:
        _, secret = await begun(s)
        for _ in range(50):
            wants(s, secret)
        (one,) = await asked(s)
        assert one.times == 50


async def test_flood_of_questions_is_cut() -> None:
    async with scene() as s:
        _, secret = await begun(s)
        for number in range(2 * MAX_PENDING):
            wants(s, secret, host=f"h{number}.example.com")
        assert MAX_PER_MINUTE <= len(await asked(s)) <= MAX_PENDING


@pytest.mark.parametrize(
    "change",
    [
        {"host": "API.example.com"},
        {"host": "api.example.com."},
        {"host": "a\u202eb.example"},
        {"host": "127.1"},
        {"host": ""},
        {"port": 0},
        {"port": "443"},
        {"version": 2},
        {"secret": "OTHER"},
        {"secret_id": "sec_none"},
        {"secret": None},
    ],
)
async def test_question_that_does_not_hold_together_is_dropped(change: dict[str, object]) -> None:
    async with scene() as s:
        box, secret = await begun(s)
        wants(s, secret, **change)
        s.runtime.journal.append(entry(2, "approval.granted", {"approval_id": "ap_x"}))
        assert await asked(s) == []
        assert not [kind for kind in await s.kinds(box) if kind.startswith("approval")]


async def test_secret_of_another_sandbox_cannot_be_asked_for() -> None:
    async with scene() as s:
        accepting(s)
        elsewhere = await s.ready(name="elsewhere")
        scope = f"sandbox:{elsewhere.id}"
        request = SetSecret("K", KEY, Use(Purpose.CUSTOM), scope)
        secret = await s.secrets.set(LOCAL_PERSON, request)
        foreign = await s.secrets.set(OTHER, SetSecret("F", KEY, Use(Purpose.CUSTOM)))
        await s.sandboxes.stop(LOCAL_PERSON, elsewhere.id)
        await s.sandboxes.wait(LOCAL_PERSON, elsewhere.id, settled=True)
        await s.ready(name="box")
        wants(s, secret)
        wants(s, foreign)
        assert await asked(s) == []


async def test_no_is_kept_for_a_while() -> None:
    async with scene() as s:
        _, secret = await begun(s)
        wants(s, secret)
        (one,) = await asked(s)
        await s.approvals.deny(LOCAL_PERSON, one.id)
        wants(s, secret)
        assert await asked(s) == []
        s.clock.turn(COOLDOWN.total_seconds())
        wants(s, secret)
        assert len(await asked(s)) == 1


async def test_question_nobody_answers_expires() -> None:
    async with scene() as s:
        box, secret = await begun(s)
        await s.sandboxes.extend_ttl(LOCAL_PERSON, box.id, 9999)
        runs(s, "make", "deploy")
        (one,) = await asked(s)
        s.clock.turn(700)
        assert await asked(s) == []
        with pytest.raises(Conflict):
            await s.approvals.approve(LOCAL_PERSON, one.id, yes(one, GrantScope.ONCE))
        assert "approval.expired" in await s.kinds(box)
        del secret


def _guest_access(approval: Approval) -> GuestAccess:
    """A guest's, at the very sandbox that asks."""
    requester = approval.requester
    return GuestAccess(
        approval.org_id,
        approval.owner,
        ShareId("sh_1"),
        requester.sandbox_id,
        None,
        Role.CONTROLLER,
        approval.asked_at + timedelta(days=1),
    )


async def test_yes_without_a_person_present_is_refused() -> None:
    async with scene() as s:
        _, secret = await begun(s)
        wants(s, secret)
        (one,) = await asked(s)
        for caller in (
            TOKEN,
            replace(LOCAL_PERSON, kind=ActorKind.AGENT),
            replace(LOCAL_PERSON, kind=ActorKind.AUTOMATION),
            replace(LOCAL_PERSON, guest_access=_guest_access(one)),
        ):
            with pytest.raises(Forbidden):
                await s.approvals.approve(caller, one.id, yes(one))
        with pytest.raises(NotFound):
            await s.approvals.approve(OTHER, one.id, yes(one))
        with pytest.raises(NotFound):
            await s.approvals.confirmation(OTHER, one.id)


async def test_words_are_good_once_for_one_question_and_one_person() -> None:
    async with scene() as s:
        _, secret = await begun(s)
        wants(s, secret)
        wants(s, secret, host="second.example.com")
        second, first = await asked(s)
        given = await s.approvals.confirmation(TOKEN, first.id)
        other = await s.approvals.confirmation(TOKEN, second.id)
        with pytest.raises(LimitReached):
            await s.approvals.approve(TOKEN, first.id, yes(first), words=other.words)
        with pytest.raises(Forbidden):
            await s.approvals.approve(
                replace(TOKEN, id=LOCAL_PERSON.id, name="x"),
                first.id,
                yes(first),
                words=given.words,
            )
        said = await s.approvals.approve(TOKEN, first.id, yes(first), words=given.words.upper())
        assert said.verdict is ApprovalState.GRANTED
        with pytest.raises(AtollError):
            await s.approvals.approve(TOKEN, first.id, yes(first), words=given.words)


async def test_words_end_with_time_and_with_wrong_tries() -> None:
    async with scene() as s:
        _, secret = await begun(s)
        wants(s, secret)
        (one,) = await asked(s)
        given = await s.approvals.confirmation(TOKEN, one.id)
        for _ in range(3):
            with pytest.raises(LimitReached):
                await s.approvals.approve(TOKEN, one.id, yes(one), words="wrong-words")
        with pytest.raises(Forbidden):
            await s.approvals.approve(TOKEN, one.id, yes(one), words=given.words)
        again = await s.approvals.confirmation(TOKEN, one.id)
        s.clock.turn(121)
        with pytest.raises(Forbidden):
            await s.approvals.approve(TOKEN, one.id, yes(one), words=again.words)


async def test_changed_secret_voids_what_was_asked_and_granted() -> None:
    async with scene() as s:
        _, secret = await begun(s)
        wants(s, secret)
        wants(s, secret, host="second.example.com")
        second, first = await asked(s)
        await s.approvals.approve(LOCAL_PERSON, first.id, yes(first))
        await s.secrets.rotate(LOCAL_PERSON, "K", KEY + "2")
        verdicts = {one.id: one.verdict for one in (await s.approvals.list(LOCAL_PERSON)).rows}
        assert verdicts == {first.id: ApprovalState.REVOKED, second.id: ApprovalState.EXPIRED}
        assert policies(s)[-1].approvals == ()
        with pytest.raises(Conflict):
            await s.approvals.approve(LOCAL_PERSON, second.id, yes(second))


async def test_two_hundred_answers_racing_a_change_leave_one_truth() -> None:
    async with scene() as s:
        box, secret = await begun(s)
        wants(s, secret)
        (one,) = await asked(s)

        async def attempt(number: int) -> object:
            try:
                if number == 100:
                    return await s.secrets.rotate(LOCAL_PERSON, "K", KEY + "9")
                if number % 2:
                    return await s.approvals.approve(LOCAL_PERSON, one.id, yes(one))
                return await s.approvals.deny(LOCAL_PERSON, one.id)
            except Conflict as err:
                return err

        done = await asyncio.gather(*(attempt(number) for number in range(200)))
        assert sum(isinstance(each, Approval) for each in done) <= 1
        now = await s.approvals.get(LOCAL_PERSON, one.id)
        assert now.verdict in (ApprovalState.REVOKED, ApprovalState.DENIED, ApprovalState.EXPIRED)
        await s.within.policy_push.push_changes(box.org_id, None)
        assert policies(s)[-1].approvals == ()
        assert policies(s)[-1].customs[0].version == 2


async def test_command_is_allowed_once_and_the_runtime_told() -> None:
    async with scene() as s:
        await begun(s)
        s.runtime.answers["POST", "/asks/ask_c"] = (204, None)
        runs(s, "make", "deploy\x1b[2J")
        (one,) = await asked(s)
        said = await s.approvals.approve(LOCAL_PERSON, one.id, yes(one, GrantScope.ONCE))
        assert said.verdict is ApprovalState.USED
        bodies = [call.body for call in s.runtime.calls if call.path == "/asks/ask_c"]
        assert bodies == [b'{"decision":"allow"}']


async def test_command_nobody_waits_for_is_not_allowed() -> None:
    async with scene() as s:
        await begun(s)
        runs(s, "make")
        (one,) = await asked(s)
        with pytest.raises(Conflict) as caught:
            await s.approvals.approve(LOCAL_PERSON, one.id, yes(one, GrantScope.ONCE))
        assert caught.value.code == "nobody_waits"
        assert (await s.approvals.get(LOCAL_PERSON, one.id)).verdict is ApprovalState.EXPIRED


async def test_command_denied_a_moment_ago_is_denied_again() -> None:
    async with scene() as s:
        await begun(s)
        for ask in ("ask_c", "ask_d"):
            s.runtime.answers["POST", f"/asks/{ask}"] = (204, None)
        runs(s, "make")
        (one,) = await asked(s)
        await s.approvals.deny(LOCAL_PERSON, one.id)
        runs(s, "make", ask_id="ask_d")
        assert await asked(s) == []
        told = {call.path: call.body for call in s.runtime.calls if call.path.startswith("/asks")}
        assert set(told.values()) == {b'{"decision":"deny"}'}
        assert len(told) == 2


async def test_yes_for_a_time_ends() -> None:
    async with scene() as s:
        box, secret = await begun(s)
        wants(s, secret)
        (one,) = await asked(s)
        short = ApprovalGrant(GrantScope.SANDBOX, timedelta(seconds=5), digest(one))
        await s.approvals.approve(LOCAL_PERSON, one.id, short)
        assert policies(s)[-1].approvals
        s.clock.turn(5)
        await s.within.policy_push.push_changes(box.org_id, None)
        assert policies(s)[-1].approvals == ()
