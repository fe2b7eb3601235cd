"""The inbox: what waits for a person, and how it is answered."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

from atoll.domain.errors import AtollError, Conflict, Forbidden, Invalid, NotFound
from atoll.domain.ids import PrincipalId
from atoll.domain.inbox.item import InboxItem
from atoll.domain.logins.agent_login import AgentLoginRecord
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.domain.sandboxes.pull_order import Checkout
from atoll.domain.sandboxes.sandbox import Sandbox, SandboxRepo
from atoll.ports.kept import HeldPush, KeptWorktree
from atoll.services.agents.statuses import AgentStatuses
from atoll.services.dashboards.mentions import DashboardMentions
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.inbox.conflicts import Conflicts
from atoll.services.inbox.endings import Endings
from atoll.services.inbox.inbox import Inbox, InboxAnswer
from atoll.services.journals.push_notes import PushNotes
from atoll.services.library.pull_orders import PullOrders
from atoll.services.library.pushes import HeldPushes
from atoll.services.library.settings import KeptSettings
from atoll.services.library.syncs import Sync, SyncOrder, Syncs
from atoll.services.library.unpulled import UnpulledWork
from atoll.services.logins.begun import BegunAgentLogin
from atoll.services.work.states import WorkStates
from atoll.testing import FakeAgentIssuer
from atoll.wire.words.agents import LoginMethod
from atoll.wire.words.approvals import ApprovalState
from atoll.wire.words.events import ActorKind
from atoll.wire.words.library import SyncAct, SyncOutcome
from tests.services.approvals.test_approvals import collected, entry
from tests.services.scene import Scene, body_of, scene
from tests.services.test_secrets import accepting

AT = "2026-01-01T00:00:00.000Z"
TOKEN = replace(LOCAL_PERSON, interactive=False)
ASKS: dict[str, Any] = {
    "id": "g_1",
    "agent": "codex",
    "mode": "machine",
    "status": "needs_you",
    "since": AT,
    "question": "Allow Bash? npm…",
    "card": "approval:1",
    "answer": "protocol",
    "options": [
        {"id": "allow", "label": "Allow", "effect": "allow"},
        {"id": "deny", "label": "Deny", "effect": "deny"},
    ],
}
CARD = {
    "id": "approval:1", "rev": 1, "state": "pending", "title": "Allow Bash?",
    "text": "npm publish\nrm -rf \x1b[2Jx",
}  # fmt: skip
PATH = "/sessions/g_1/cards/approval:1"


class Held:
    """A shelf that holds pushes."""

    def __init__(self, held: tuple[KeptWorktree, ...]) -> None:
        self.held = held

    async def list(self) -> tuple[KeptWorktree, ...]:
        return self.held

    async def remove(self, kept_id: str) -> None:
        self.held = tuple(one for one in self.held if one.id != kept_id)


def inbox_of(
    s: Scene,
    shelf: Held | None = None,
    pulls: PullOrders | None = None,
    *,
    conflicts: Conflicts | None = None,
) -> Inbox:
    agents = s.agents
    held = shelf or Held(())
    pushes = HeldPushes(
        Ground(s.store, s.bus, s.clock, Identifiers()), s.sandboxes, cast(Any, None),
        access=s.access, shelf=cast(Any, held), notes=PushNotes(), settings=KeptSettings(30),
    )  # fmt: skip
    ground, unpulled = (
        Ground(s.store, s.bus, s.clock, Identifiers()),
        UnpulledWork(s.sandboxes, s.access),
    )
    return Inbox(
        s.approvals,
        AgentStatuses(s.store, s.bus),
        agents,
        pushes=pushes,
        pulls=pulls or PullOrders(Ground(s.store, s.bus, s.clock, Identifiers()), s.sandboxes),
        endings=Endings(ground, s.sandboxes, unpulled, pushes=pushes),
        mentions=DashboardMentions(ground),
        sandboxes=s.sandboxes,
        logins=s.background.logins.logins,
        conflicts=conflicts or Conflicts(s.sandboxes, WorkStates(s.store), Syncing(), s.terminals),
    )


class Syncing(Syncs):
    """Syncs that remember the orders."""

    def __init__(self) -> None:
        self.orders: list[SyncOrder] = []

    async def sync(self, caller: Principal, ref: str, order: SyncOrder) -> Sync:
        self.orders.append(order)
        return Sync(SyncOutcome.CLEAN, "main", "")


async def asking(s: Scene, **changed: object) -> tuple[Sandbox, InboxItem]:
    """A sandbox whose agent asks, and the item of that."""
    accepting(s)
    sandbox = await s.ready(name="box")
    s.runtime.answers["GET", PATH] = (200, CARD)
    s.runtime.answers["POST", PATH + "/answer"] = (200, {})
    s.runtime.journal = [entry(1, "agent.status", {**ASKS, **changed})]
    await collected(s)
    (item,) = await inbox_of(s).list(LOCAL_PERSON)
    return sandbox, item


async def answered(s: Scene, item: InboxItem, **answer: str) -> None:
    given = {"shown": item.shown, **answer}
    await inbox_of(s).answer(LOCAL_PERSON, item.id, InboxAnswer(**given))


async def test_permission_of_an_agent_is_answered_by_its_option() -> None:
    async with scene() as s:
        sandbox, item = await asking(s)
        assert (item.sandbox_id, item.agent, item.agent_id) == (sandbox.id, "codex", "g_1")
        assert (item.since, item.by, item.words) == (AT, "protocol", False)
        assert item.lines == ("Allow Bash?", "npm publish", "rm -rf \\x1b[2Jx")
        await answered(s, item, option="allow")
        (call,) = [one for one in s.runtime.calls if one.path == PATH + "/answer"]
        assert body_of(call)["option"] == "allow"


async def test_question_of_an_agent_is_answered_in_words() -> None:
    async with scene() as s:
        _, item = await asking(s, words=True)
        assert item.words
        await answered(s, item, text="the second one")
        (call,) = [one for one in s.runtime.calls if one.path == PATH + "/answer"]
        assert body_of(call)["text"] == "the second one"


async def test_answer_to_something_else_than_what_was_shown_is_refused() -> None:
    async with scene() as s:
        _, item = await asking(s)
        s.runtime.answers["GET", PATH] = (200, {**CARD, "text": "npm publish\nrm -rf /"})
        with pytest.raises(Conflict) as caught:
            await answered(s, item, option="allow", shown=item.shown)
        assert caught.value.code == "not_as_shown"
        assert [one for one in s.runtime.calls if one.path == PATH + "/answer"] == []


@pytest.mark.parametrize("reachable", [True, False])
async def test_question_at_a_terminal_is_answered_there(reachable: bool) -> None:
    async with scene() as s:
        accepting(s)
        await s.ready(name="box")
        by = {"answer": "terminal"} if reachable else {}  # else: its card is gone
        s.runtime.journal = [entry(1, "agent.status", {**ASKS, **by})]
        await collected(s)
        (item,) = await inbox_of(s).list(LOCAL_PERSON)
        assert (item.by, item.lines, item.options) == ("terminal", ("Allow Bash? npm…",), ())
        with pytest.raises(Conflict) as caught:
            await answered(s, item, option="allow")
        assert caught.value.code == "not_answerable"


async def test_item_is_gone_once_its_agent_works_again() -> None:
    async with scene() as s:
        _, item = await asking(s)
        s.runtime.journal.append(entry(2, "agent.status", {**ASKS, "status": "working"}))
        await collected(s)
        assert await inbox_of(s).list(LOCAL_PERSON) == []
        with pytest.raises(NotFound):
            await answered(s, item, option="allow")


def asks_for_a_command(s: Scene) -> None:
    subject = {"argv": ["npm", "publish"], "cwd": "/workspace"}
    told = {"ask_id": "ask_c", "kind": "command", "subject": subject}
    s.runtime.journal.append(entry(len(s.runtime.journal) + 1, "approval.asked", told))
    s.runtime.answers["POST", "/asks/ask_c"] = (204, None)


async def test_approvals_and_questions_are_one_list_and_name_who_asks() -> None:
    async with scene() as s:
        await asking(s)
        asks_for_a_command(s)
        await collected(s)
        first, second = await inbox_of(s).list(LOCAL_PERSON)
        assert {first.kind, second.kind} == {"agent", "command"}
        command = first if first.kind == "command" else second
        assert (command.agent, command.by, command.lines[1]) == ("codex", "person", "  0: npm")
        assert [one.id for one in command.options] == ["once", "deny"]
        await answered(s, command, option="deny")
        assert [one.kind for one in await inbox_of(s).list(LOCAL_PERSON)] == ["agent"]


async def test_agent_whose_last_turn_failed_is_named_and_one_that_ended_is_not() -> None:
    async with scene() as s:
        await s.ready(name="box")
        started = {"id": "t_1", "agent": "codex", "mode": "tui"}
        failed = {**ASKS, **started, "status": "failed", "question": "", "answer": ""}
        s.runtime.journal = [entry(1, "agent.started", started), entry(2, "agent.status", failed)]
        asks_for_a_command(s)
        await collected(s)
        assert [one.agent for one in await inbox_of(s).list(LOCAL_PERSON)] == ["codex"]
        s.runtime.journal.append(entry(4, "agent.ended", {"id": "t_1"}))
        await collected(s)
        assert [one.agent for one in await inbox_of(s).list(LOCAL_PERSON)] == [None]


async def test_approval_from_a_terminal_needs_the_words_of_a_person() -> None:
    async with scene() as s:
        accepting(s)
        await s.ready(name="box")
        asks_for_a_command(s)
        await collected(s)
        inbox = inbox_of(s)
        (item,) = await inbox.list(TOKEN)
        with pytest.raises(Forbidden):
            await inbox.answer(TOKEN, item.id, InboxAnswer(item.shown, "once"))
        words = (await s.approvals.confirmation(TOKEN, item.id)).words
        await inbox.answer(TOKEN, item.id, InboxAnswer(item.shown, "once", words=words))
        assert (await s.approvals.get(TOKEN, item.id)).verdict is ApprovalState.USED


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({}, Invalid),
        ({"option": "once", "text": "yes"}, Invalid),
        ({"option": "organization"}, Invalid),
        ({"text": "yes"}, Invalid),
        ({"option": "once", "shown": "0" * 64}, Conflict),
    ],
)
async def test_answer_that_an_approval_does_not_take_is_refused(
    answer: dict[str, str], expected: type[AtollError]
) -> None:
    async with scene() as s:
        await s.ready(name="box")
        asks_for_a_command(s)
        await collected(s)
        (item,) = await inbox_of(s).list(LOCAL_PERSON)
        with pytest.raises(expected):
            await answered(s, item, **answer)
        assert len(await inbox_of(s).list(LOCAL_PERSON)) == 1


def held(s: Scene, sandbox: Sandbox, kept_id: str, owner: str | None = None) -> KeptWorktree:
    """A held push of a branch with a hostile subject."""
    now = s.clock.now()
    return KeptWorktree(
        kept_id, sandbox.org_id, cast(Any, owner or sandbox.owner), sandbox.id, sandbox.name, now,
        now + timedelta(days=1), (0,), tree=False,
        pushed=HeldPush("fix", "a" * 40, 2, "mend \x1b[2J"),
    )  # fmt: skip


async def test_held_push_of_its_owner_is_dropped_or_ordered() -> None:
    async with scene() as s:
        repo = SandboxRepo("https://h.example/o/r", "fix", None, "/workspace")
        sandbox = await s.ready(name="box", repos=(repo,))
        shelf = Held((held(s, sandbox, "kept_1"), held(s, sandbox, "kept_2", "somebody")))
        pulls = PullOrders(Ground(s.store, s.bus, s.clock, Identifiers()), s.sandboxes)
        inbox = inbox_of(s, shelf, pulls)
        (item,) = await inbox.list(LOCAL_PERSON)
        assert (item.kind, item.id, item.by) == ("push", "kept_1", "person")
        assert item.lines == ("branch fix: 2 new commits up to aaaaaaaaaaaa", "mend \\x1b[2J")
        with pytest.raises(Conflict):
            await inbox.answer(LOCAL_PERSON, item.id, InboxAnswer("0" * 64, "drop"))
        await inbox.answer(LOCAL_PERSON, item.id, InboxAnswer(item.shown, "pull"))
        (waits,) = await inbox.list(LOCAL_PERSON)
        assert [one.id for one in waits.options] == ["drop"] and "--watch" in waits.lines[-1]
        with pytest.raises(Conflict):
            await inbox.answer(LOCAL_PERSON, item.id, InboxAnswer(item.shown, "pull"))
        place = Checkout("k", "https://h.example/o/r")
        order = await pulls.take(LOCAL_PERSON, place, seconds=0)
        assert order is not None and (order.draft.branch, order.draft.pushed) == ("fix", True)
        # The agent may push again before a checkout takes the order: what was shown counts.
        assert order.draft.expects == "a" * 40
        with pytest.raises(Invalid):
            await inbox.answer(LOCAL_PERSON, item.id, InboxAnswer(item.shown, "sell"))
        await inbox.answer(LOCAL_PERSON, item.id, InboxAnswer(item.shown, "drop"))
        assert await inbox.list(LOCAL_PERSON) == []
        assert [one.id for one in shelf.held] == ["kept_2"]


async def ending(s: Scene) -> Sandbox:
    """A sandbox whose end is announced."""
    made = await s.ready(name="box")
    with s.bus.listen(f"sandbox:{made.id}") as listener:
        s.clock.turn(1800)
        while "sandbox.ends_soon" not in await s.kinds(made):
            await listener.wait()
    return made


async def test_announced_end_waits_with_its_work_and_is_extended() -> None:
    async with scene() as s:
        made = await ending(s)
        inbox = inbox_of(s, Held((held(s, made, "kept_1"),)))
        item, pushed = sorted(await inbox.list(LOCAL_PERSON), key=lambda one: one.kind)
        assert (item.kind, item.by, pushed.kind) == ("end", "person", "push")
        assert [one.id for one in item.options] == ["extend", "let_end"]
        assert item.lines[0].startswith(f"its time is over at {made.expires_at:%Y-%m-%d %H:%M}")
        assert "pushed inside and held: fix at aaaaaaaaaaaa" in item.lines
        with pytest.raises(Invalid):
            await inbox.answer(LOCAL_PERSON, item.id, InboxAnswer(item.shown, "sell"))
        await inbox.answer(LOCAL_PERSON, item.id, InboxAnswer(item.shown, "extend"))
        longer = await s.sandboxes.get(LOCAL_PERSON, made.id)
        assert longer.expires_at - made.expires_at == timedelta(seconds=made.ttl_seconds)
        assert [one.kind for one in await inbox.list(LOCAL_PERSON)] == ["push"]


async def test_end_that_its_person_accepts_is_not_shown_again() -> None:
    async with scene() as s:
        made = await ending(s)
        inbox = inbox_of(s)
        (item,) = await inbox.list(LOCAL_PERSON)
        await inbox.answer(LOCAL_PERSON, item.id, InboxAnswer(item.shown, "let_end"))
        assert await inbox.list(LOCAL_PERSON) == []
        assert "sandbox.end_accepted" in await s.kinds(made)
        with pytest.raises(NotFound):
            await inbox.answer(LOCAL_PERSON, item.id, InboxAnswer(item.shown, "extend"))


async def test_end_of_a_sandbox_that_cannot_be_looked_into_says_so() -> None:
    async with scene() as s:
        made = await ending(s)
        s.runtime.down = True
        repo = SandboxRepo("https://h.example/o/r", "fix", None, "/workspace")
        async with s.store.begin() as rows:
            await rows.sandboxes.update(
                replace(await s.sandboxes.get(LOCAL_PERSON, made.id), repos=(repo,))
            )
        (item,) = await inbox_of(s).list(LOCAL_PERSON)
        assert "cannot be listed" in item.lines[1]


async def test_login_that_broke_waits_until_it_is_replaced_or_dismissed() -> None:
    issuer = FakeAgentIssuer()
    async with scene(issuers={"codex": issuer}) as s:
        inbox, logins = inbox_of(s), s.background.logins.logins
        broken = await broken_login(s, issuer)
        (item,) = await inbox.list(LOCAL_PERSON)
        assert (item.id, item.kind, item.agent) == (broken.id, "login", "codex")
        assert "log in again" in " ".join(item.lines)
        assert await inbox.list(replace(LOCAL_PERSON, kind=ActorKind.AGENT)) == []
        with pytest.raises(Conflict):
            await inbox.answer(LOCAL_PERSON, item.id, InboxAnswer(item.shown, "yes"))
        with pytest.raises(NotFound):
            await inbox.dismiss(replace(LOCAL_PERSON, id=PrincipalId("other")), item.id)
        await inbox.dismiss(LOCAL_PERSON, item.id)
        assert await inbox.list(LOCAL_PERSON) == []
        with pytest.raises(NotFound):
            await inbox.dismiss(LOCAL_PERSON, item.id)
        await broken_login(s, issuer)
        key = BegunAgentLogin("codex", LoginMethod.API_KEY, "sk-canary-login-7f3a9c1b5d2e8046")
        again = await logins.begin(LOCAL_PERSON, key)
        assert len(await inbox.list(LOCAL_PERSON)) == 1
        await logins.turn(LOCAL_PERSON, again.id, on=True)
        assert await inbox.list(LOCAL_PERSON) == []


async def broken_login(s: Scene, issuer: FakeAgentIssuer) -> AgentLoginRecord:
    """A login that was on when its issuer refused a refresh."""
    logins = s.background.logins.logins
    record = await logins.begin(LOCAL_PERSON, BegunAgentLogin("codex"))
    with s.bus.listen(f"agent-login:{record.id}") as listener:
        issuer.confirm_all()
        while (found := await logins.get(LOCAL_PERSON, record.id)).login.state != "ready":
            s.clock.turn(5)
            await listener.wait()
        await logins.turn(LOCAL_PERSON, record.id, on=True)
        issuer.failure = Forbidden("It refused: log in again.", code="issuer_refused")
        s.clock.turn(3600)
        while (found := await logins.get(LOCAL_PERSON, record.id)).login.state == "ready":
            await listener.wait()
    assert found.needs_login
    return found


STUCK: dict[str, Any] = {
    "path": "/workspace",
    "branch": "fix",
    "head": "a" * 40,
    "conflict": "rebase",
    "onto": "main\x1b[2J",
    "files": ["login.py", "a\nb"],
    "more": 40,
}
WORKS = {**ASKS, "status": "done", "question": "", "card": "", "answer": "", "options": []}


async def stuck(s: Scene, syncs: Syncs, *, agent: bool) -> tuple[Sandbox, Inbox]:
    """A sandbox that stopped at a conflict, and the inbox. `agent`: one runs there."""
    accepting(s)
    sandbox = await s.ready(name="box")
    began = {"id": "g_1", "agent": "codex", "mode": "machine"}
    running = [entry(1, "agent.started", began), entry(2, "agent.status", WORKS)]
    s.runtime.journal = [
        *(running if agent else ()),
        entry(3 if agent else 1, "git.tree", {"trees": [STUCK]}),
    ]
    await collected(s)
    states = WorkStates(s.store)
    conflicts = Conflicts(s.sandboxes, states, syncs, s.terminals)
    return sandbox, inbox_of(s, conflicts=conflicts)


async def test_conflict_waits_with_its_three_acts() -> None:
    async with scene() as s:
        sandbox, inbox = await stuck(s, Syncing(), agent=True)
        (item,) = await inbox.list(LOCAL_PERSON)
        assert (item.kind, item.sandbox_id, item.agent) == ("conflict", sandbox.id, "codex")
        assert item.lines == (
            "A rebase onto newer commits of main\\x1b[2J stopped at a conflict.",
            "login.py",
            "a\\x0ab",
            "and 40 more",
        )
        assert [option.id for option in item.options] == ["agent", "terminal", "abort"]
        assert item.options[0].label == "Let codex resolve it"


async def test_conflict_without_an_agent_has_two_acts() -> None:
    async with scene() as s:
        _, inbox = await stuck(s, Syncing(), agent=False)
        (item,) = await inbox.list(LOCAL_PERSON)
        assert [option.id for option in item.options] == ["terminal", "abort"]
        with pytest.raises(Invalid, match="takes one of: terminal, abort"):
            await inbox.answer(LOCAL_PERSON, item.id, InboxAnswer(item.shown, "agent"))


@pytest.mark.parametrize(
    ("option", "order"),
    [
        ("agent", SyncOrder(0, act=SyncAct.LOOK, hand_over=True)),
        ("abort", SyncOrder(0, act=SyncAct.ABORT)),
    ],
)
async def test_conflict_is_handed_over_or_given_up(option: str, order: SyncOrder) -> None:
    async with scene() as s:
        syncs = Syncing()
        _, inbox = await stuck(s, syncs, agent=True)
        (item,) = await inbox.list(LOCAL_PERSON)
        await inbox.answer(LOCAL_PERSON, item.id, InboxAnswer(item.shown, option))
        assert syncs.orders == [order]


async def test_conflict_is_resolved_in_a_terminal_of_its_folder() -> None:
    async with scene() as s:
        _, inbox = await stuck(s, Syncing(), agent=False)
        (item,) = await inbox.list(LOCAL_PERSON)
        with pytest.raises(NotFound):  # as this runtime opens none
            await inbox.answer(LOCAL_PERSON, item.id, InboxAnswer(item.shown, "terminal"))
        (call,) = [
            one for one in s.runtime.calls if (one.method, one.path) == ("POST", "/sessions")
        ]
        body = body_of(call)
        assert (body["cwd"], body["name"]) == ("/workspace", "conflict")


async def test_conflict_of_another_person_is_not_listed() -> None:
    async with scene() as s:
        _, inbox = await stuck(s, Syncing(), agent=True)
        other = replace(LOCAL_PERSON, id=PrincipalId("other"))
        assert await inbox.list(other) == []
        (item,) = await inbox.list(LOCAL_PERSON)
        with pytest.raises(NotFound):
            await inbox.answer(other, item.id, InboxAnswer(item.shown, "abort"))
