"""The inbox: everything that waits for the caller, in one list, with one way to answer.

Approvals are decided by `services.approvals`, with all its checks that a person is there. Questions
of agents are answered by their protocol, through `services.agents`. A held push is dropped, or
ordered into the checkout that waits for it. A sandbox that ends soon is extended, or left to end. A
task behind a failed set-up is begun or left. A conflict is handed to an agent, or given up. A
mention on a dashboard is dismissed, and so is a login that broke.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from atoll.domain.approvals.approval import ApprovalGrant, Requester
from atoll.domain.errors import AtollError, Conflict, Invalid, NotFound
from atoll.domain.ids import SandboxId
from atoll.domain.inbox.conflict import PREFIX as CONFLICT_ID
from atoll.domain.inbox.ending import PREFIX
from atoll.domain.inbox.item import (
    AGAIN,
    BEGIN,
    DENY,
    DROP,
    PULL,
    SETUP_ID,
    InboxItem,
    PushedBranch,
    agent_item_id,
    answer_after_sleep,
    item_of_agent,
    item_of_approval,
    item_of_mention,
    item_of_push,
    item_of_setup,
)
from atoll.domain.inbox.login import PREFIX as LOGIN_ID
from atoll.domain.inbox.login import item_of_login
from atoll.domain.logins.agent_login import AgentLoginId
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.pull_order import PullDraft
from atoll.domain.sandboxes.reported import ReportedAgent
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.domain.sandboxes.task_queue import waits_for_person
from atoll.ports.kept import HeldPush, KeptWorktree
from atoll.services.agents.agents import Agents
from atoll.services.agents.statuses import AgentStatuses, PlacedAgent
from atoll.services.approvals.approvals import Approvals
from atoll.services.dashboards.mentions import DashboardMentions
from atoll.services.inbox.conflicts import Conflicts
from atoll.services.inbox.endings import Endings
from atoll.services.library.pull_orders import PullOrders
from atoll.services.library.pushes import HeldPushes
from atoll.services.logins.agent_logins import AgentLogins
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.wire.contract.agents import AnswerBody, AskBody
from atoll.wire.words.agents import AnswerBy, ItemKind
from atoll.wire.words.approvals import ApprovalState, GrantScope
from atoll.wire.words.sandboxes import MAX_SANDBOX_PAGE

ENDED = ("stopped", "failed")


@dataclass(frozen=True, slots=True)
class InboxAnswer:
    """An answer: the id of an option, or words. `shown` stands for what the person saw; `words`
    are those of a confirmation, which an approval needs from a terminal."""

    shown: str
    option: str | None = None
    text: str | None = None
    words: str | None = None


class Inbox:
    """Use cases on the inbox of a person."""

    def __init__(
        self,
        approvals: Approvals,
        statuses: AgentStatuses,
        agents: Agents,
        *,
        pushes: HeldPushes,
        pulls: PullOrders,
        endings: Endings,
        mentions: DashboardMentions,
        sandboxes: Sandboxes,
        logins: AgentLogins,
        conflicts: Conflicts,
    ) -> None:
        self._conflicts = conflicts
        self._logins = logins
        self._endings = endings
        self._mentions = mentions
        self._sandboxes = sandboxes
        self._pushes = pushes
        self._pulls = pulls
        self._approvals = approvals
        self._statuses = statuses
        self._agents = agents

    async def list(self, caller: Principal) -> list[InboxItem]:
        """Return what waits for the caller, the longest waiting first."""
        placed = await self._statuses.all(caller)
        pending = await self._approvals.list(caller, verdicts=(ApprovalState.PENDING,))
        items = [
            item_of_approval(approval, _asker(placed, approval.requester))
            for approval in pending.rows
        ]
        items += [await self._agent_item(caller, agent) for agent in placed if _calls(agent)]
        items += await self._push_items(caller)
        items += await self._endings.items(caller)
        items += await self._conflicts.items(caller)
        items += [item_of_setup(sandbox) for sandbox in await self._held_up(caller)]
        items += [
            item_of_mention(seen.mention, seen.dashboard_name)
            for seen in await self._mentions.of(caller)
        ]
        items += [item_of_login(login) for login in await self._logins.broken(caller)]
        return sorted(items, key=lambda item: item.since)

    async def _push_items(self, caller: Principal) -> Sequence[InboxItem]:
        held = await self._pushes.waiting(caller)
        ordered = await self._pulls.waiting(caller) if held else frozenset()
        return [item_of_push(_describe_pushed_branch(worktree, ordered)) for worktree in held]

    async def get(self, caller: Principal, item_id: str) -> InboxItem:
        """Return one item. Raises `NotFound` for one that no longer waits."""
        if item_id.startswith(("ap_", "kept_", "mnt_", PREFIX, CONFLICT_ID, SETUP_ID, LOGIN_ID)):
            for item in await self.list(caller):
                if item.id == item_id:
                    return item
        for placed in await self._statuses.all(caller):
            if _calls(placed) and agent_item_id(placed.sandbox, placed.agent) == item_id:
                return await self._agent_item(caller, placed)
        raise NotFound(
            f"Nothing waits for you as {item_id[:80]!r} any more: list the inbox to see what does."
        )

    async def answer(self, caller: Principal, item_id: str, answer: InboxAnswer) -> None:
        """Answer an item as it was shown. Raises `NotFound`, `Conflict` (answered already, changed,
        or answerable at its terminal only), `Forbidden`, `Invalid`."""
        if (answer.option is None) == (answer.text is None):
            raise Invalid("give `option` or `text`, not both", field="option")
        item = await self.get(caller, item_id)
        if answer.shown != item.shown:
            raise Conflict(
                f"What you were shown is not what {item.id} asks: look at it again.",
                code="not_as_shown",
            )
        await self._give(caller, item, answer)

    async def _give(self, caller: Principal, item: InboxItem, answer: InboxAnswer) -> None:
        match item.kind:
            case ItemKind.PUSH:
                await self._follow(caller, item, answer)
            case ItemKind.END:
                await self._endings.answer(caller, item, answer.option)
            case ItemKind.CONFLICT:
                await self._conflicts.answer(caller, item, answer.option)
            case ItemKind.SETUP:
                await self._set_up(caller, item, answer)
            case ItemKind.SECRET | ItemKind.COMMAND | ItemKind.HOST | ItemKind.TOOL:
                await self._decide(caller, item, answer)
            case ItemKind.MENTION | ItemKind.TODO | ItemKind.LOGIN:
                raise Conflict(
                    f"{item.id} takes no answer: follow it, or `atoll inbox dismiss {item.id}`.",
                    code="not_answerable",
                )
            case ItemKind.AGENT:  # pragma: no branch - the cases are all
                await self._pass_on(caller, item, answer)

    async def dismiss(self, caller: Principal, item_id: str) -> None:
        """Have a mention, a todo or a login that broke wait no more. Raises `NotFound`, also for
        what takes an answer."""
        if item_id.startswith(LOGIN_ID):
            await self._logins.dismiss(caller, AgentLoginId(item_id))
            return
        await self._mentions.dismiss(caller, item_id)

    async def _pass_on(self, caller: Principal, item: InboxItem, answer: InboxAnswer) -> None:
        """Give an agent its answer. Raises `Conflict` where it takes that at its terminal only."""
        if item.by is not AnswerBy.PROTOCOL:
            raise Conflict(
                f"{item.agent} takes this answer at its terminal only: "
                f"`atoll attach {item.sandbox_name}`, or open it on the page.",
                code="not_answerable",
            )
        await self._tell(caller, item, answer)

    async def _follow(self, caller: Principal, item: InboxItem, answer: InboxAnswer) -> None:
        """Drop a held push, or order its pull."""
        for worktree in await self._pushes.waiting(caller):
            if worktree.id != item.id or worktree.pushed is None:
                continue
            if answer.option == DROP:
                await self._pushes.drop(worktree)
            elif answer.option == PULL:
                draft = _draft(worktree, worktree.pushed)
                await self._pulls.order(caller, worktree.sandbox_id, draft)
            else:
                raise Invalid(f"{item.id} takes one of: {PULL}, {DROP}", field="option")

    async def _held_up(self, caller: Principal) -> Sequence[Sandbox]:
        """Return the caller's sandboxes whose task waits behind a failed set-up."""
        page = await self._sandboxes.list(caller, states=tuple(RUNNING), limit=MAX_SANDBOX_PAGE)
        return [
            sandbox
            for sandbox in page.sandboxes
            if sandbox.owner == caller.id and waits_for_person(sandbox)
        ]

    async def _set_up(self, caller: Principal, item: InboxItem, answer: InboxAnswer) -> None:
        """Begin or leave a task whose set-up failed, or run the set-up again."""
        sandbox_id = item.sandbox_id or ""
        if answer.option == BEGIN:
            await self._sandboxes.begin_task(caller, sandbox_id)
        elif answer.option == AGAIN:
            await self._sandboxes.run_setup(caller, sandbox_id)
        elif answer.option == DROP:
            await self._sandboxes.drop_task(caller, sandbox_id)
        else:
            raise Invalid(f"{item.id} takes one of: {BEGIN}, {AGAIN}, {DROP}", field="option")

    async def _decide(self, caller: Principal, item: InboxItem, answer: InboxAnswer) -> None:
        if answer.option == DENY:
            await self._approvals.deny(caller, item.id)
            return
        if answer.option not in {option.id for option in item.options}:
            known = ", ".join(option.id for option in item.options)
            raise Invalid(f"{item.id} takes one of: {known}", field="option")
        grant = ApprovalGrant(GrantScope(answer.option), None, answer.shown)
        await self._approvals.approve(caller, item.id, grant, words=answer.words)

    async def _tell(self, caller: Principal, item: InboxItem, answer: InboxAnswer) -> None:
        body = AnswerBody(answer.option, answer.text)
        sandbox_id, agent_id = item.sandbox_id or "", item.agent_id or ""
        sandbox = await self._sandboxes.get(caller, sandbox_id)
        if sandbox.asleep or sandbox.waking:
            await self._tell_after_sleep(caller, item, answer)
            return
        await self._agents.answer(caller, sandbox_id, agent_id, card=item.card, body=body)

    async def _tell_after_sleep(
        self, caller: Principal, item: InboxItem, answer: InboxAnswer
    ) -> None:
        """Give an answer to an agent that slept since it asked; that wakes it."""
        body = AskBody(prompt=answer_after_sleep(item, answer.option, answer.text))
        sandbox_id, agent_id = item.sandbox_id or "", item.agent_id or ""
        try:
            await self._agents.ask(caller, sandbox_id, agent_id, body=body)
        except NotFound:
            # One without a terminal has another id once it goes on.
            listed = await self._agents.list(caller, sandbox_id)
            same = [agent for agent in listed.agents if agent.agent == item.agent]
            if len(same) != 1:
                raise
            await self._agents.ask(caller, sandbox_id, same[0].id, body=body)

    async def _agent_item(self, caller: Principal, placed: PlacedAgent) -> InboxItem:
        sandbox, agent = placed.sandbox, placed.agent
        card = None
        if agent.status.answer == "protocol":
            try:
                card = await self._agents.card(caller, sandbox.id, agent.id, agent.status.card)
            except AtollError:
                card = None
        return item_of_agent(sandbox, agent, card)


def _describe_pushed_branch(
    worktree: KeptWorktree, ordered: Collection[tuple[SandboxId, PullDraft]]
) -> PushedBranch:
    """Return the branch of a held push, and whether its pull was ordered already."""
    push = worktree.pushed or HeldPush("", "")
    since = worktree.kept_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return PushedBranch(
        worktree.id,
        worktree.sandbox_id,
        worktree.sandbox_name,
        since,
        branch=push.branch,
        commit=push.commit,
        commits=push.commits,
        subject=push.subject,
        ordered=(worktree.sandbox_id, _draft(worktree, push)) in ordered,
    )


def _draft(worktree: KeptWorktree, push: HeldPush) -> PullDraft:
    return PullDraft(worktree.bundles[0], push.branch, pushed=True, expects=push.commit)


def _calls(placed: PlacedAgent) -> bool:
    return placed.agent.status.status == "needs_you"


def _asker(placed: Sequence[PlacedAgent], requester: Requester) -> ReportedAgent | None:
    """Return the agent of a sandbox that asked: the only one that runs there, unless a command or a
    terminal of a person ran beside it."""
    there = requester.sandbox_id
    here = [
        candidate.agent
        for candidate in placed
        if candidate.sandbox.id == there and _is_there(candidate)
    ]
    return here[0] if len(here) == 1 and not requester.beside_command else None


def _is_there(placed: PlacedAgent) -> bool:
    """Report whether an agent still runs; one whose last turn failed does."""
    running = {agent.id for agent in placed.sandbox.agents}
    return placed.agent.status.status not in ENDED or placed.agent.id in running
