"""An item of the inbox: something that waits for a person, and the answers that it takes.

Pure. Approval requests, questions of agents, held pushes, ends that come soon
(`domain.inbox.ending`), tasks behind a failed set-up, mentions on dashboards and broken logins
(`domain.inbox.login`) become items. Each item has lines that say exactly what an answer allows, and
`shown`, which stands for them: an answer must return it, so that nobody answers what they did not
see. Everything comes from inside a sandbox, or from another person, so it is spelled out without
control characters.
"""

import hashlib
from dataclasses import dataclass

from atoll.domain.agents.card import own_title
from atoll.domain.approvals.approval import (
    Approval,
    CommandAsk,
    HostAsk,
    SecretAsk,
    ToolAsk,
    digest,
    shown_lines,
    spelled_out,
)
from atoll.domain.dashboards.mention import DashboardMention, MentionKind
from atoll.domain.errors import Invalid
from atoll.domain.sandboxes.reported import ReportedAgent
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.wire.contract.agents import CardRecord, StatusOption
from atoll.wire.words.agents import AnswerBy, ItemKind
from atoll.wire.words.approvals import GrantScope

MAX_LINES = 200
SETUP_ID = "setup_"
"""The beginning of the id of an item of a set-up; its sandbox's id follows."""
DENY = "deny"
PULL, DROP = "pull", "drop"
ORDERED = "its pull waits for `atoll pull --watch` in your checkout"
BEGIN, AGAIN = "begin", "again"
MAX_TASK_CHARS = 200


DISMISSED = (ItemKind.MENTION, ItemKind.TODO, ItemKind.LOGIN)
"""The kinds that take no answer, and wait until they are dismissed."""


@dataclass(frozen=True, slots=True)
class BoardPlace:
    """An item on a dashboard, and the dashboard's name."""

    dashboard_id: str
    dashboard_name: str
    item_id: str


@dataclass(frozen=True, slots=True)
class InboxItem:
    """Something that waits for a person since `since` (RFC 3339).

    `agent` and `agent_id` name the agent that asks, where that is known; an agent at a terminal has
    the terminal's id. `lines` say what an answer allows, `options` are the answers; with `words` it
    takes an answer in words, too. `card` is an agent's card. What waits on a dashboard has its
    `place` in place of a sandbox; `author` is who mentions.
    """

    id: str
    kind: ItemKind
    sandbox_id: str | None
    sandbox_name: str | None
    since: str
    lines: tuple[str, ...]
    options: tuple[StatusOption, ...]
    by: AnswerBy
    shown: str
    agent: str | None = None
    agent_id: str | None = None
    words: bool = False
    times: int = 1
    card: str = ""
    place: BoardPlace | None = None
    author: str | None = None


@dataclass(frozen=True, slots=True)
class PushedBranch:
    """A held push, kept as `id` since `since` (RFC 3339). Branch and subject come from inside.
    With `ordered`, its pull waits for a checkout."""

    id: str
    sandbox_id: str
    sandbox_name: str
    since: str
    branch: str
    commit: str
    commits: int
    subject: str
    ordered: bool = False


def item_of_approval(approval: Approval, asker: ReportedAgent | None) -> InboxItem:
    """Return the item of a pending approval. `asker` is the only agent of its sandbox, if it has
    only one."""
    requester = approval.requester
    kind, scopes = _scopes(approval)
    grants = tuple(StatusOption(one.value, _LABELS[one], "allow") for one in scopes)
    return InboxItem(
        id=approval.id,
        kind=kind,
        sandbox_id=requester.sandbox_id,
        sandbox_name=requester.sandbox_name,
        since=approval.asked_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        lines=shown_lines(approval),
        options=(*grants, StatusOption(DENY, "Deny", "deny")),
        by=AnswerBy.PERSON,
        shown=digest(approval),
        agent=None if asker is None else asker.agent,
        agent_id=None if asker is None else asker.id,
        times=approval.times,
    )


def item_of_agent(sandbox: Sandbox, agent: ReportedAgent, card: CardRecord | None) -> InboxItem:
    """Return the item of an agent that needs its person. Without its card, the question can be
    answered at the terminal only, unless the sandbox sleeps: then the answer wakes it."""
    status = agent.status
    by = AnswerBy.TERMINAL
    lines: tuple[str, ...] = (spelled_out(status.question or "The agent asks for you"),)
    if card is not None and status.answer == "protocol":
        by, lines = AnswerBy.PROTOCOL, _card_lines(card)
    elif sandbox.asleep and status.answer == "protocol":
        by = AnswerBy.PROTOCOL
    answerable = by is AnswerBy.PROTOCOL
    return InboxItem(
        id=agent_item_id(sandbox, agent),
        kind=ItemKind.AGENT,
        sandbox_id=sandbox.id,
        sandbox_name=sandbox.name,
        since=status.since,
        lines=lines,
        options=status.options if answerable else (),
        by=by,
        shown=_digest(agent, lines if card is None else (card.title, card.text)),
        agent=agent.agent,
        agent_id=agent.id,
        words=status.words and answerable,
        card=status.card,
    )


def answer_after_sleep(item: InboxItem, option: str | None, text: str | None) -> str:
    """Return an answer as a prompt, for an agent that slept since it asked: it has its conversation
    again, and no question that is open. Raises `Invalid` for an option that there is not."""
    labels = {each.id: each.label for each in item.options}
    if option is not None and option not in labels:
        raise Invalid(f"{item.id} takes one of: {', '.join(labels)}", field="option")
    answer = (text or "") if option is None else labels[option]
    asked = " ".join(item.lines)
    return f"Before this sandbox slept you asked: {asked}\nThe answer is: {answer}"


def item_of_push(push: PushedBranch) -> InboxItem:
    """Return the item of a held push."""
    more = f"{push.commits} new commit{'' if push.commits == 1 else 's'}"
    lines = (
        f"branch {spelled_out(push.branch)}: {more} up to {push.commit[:12]}",
        spelled_out(push.subject),
        ORDERED if push.ordered else "",
    )
    pull = () if push.ordered else (StatusOption(PULL, "Pull into my checkout", "allow"),)
    return InboxItem(
        id=push.id,
        kind=ItemKind.PUSH,
        sandbox_id=push.sandbox_id,
        sandbox_name=push.sandbox_name,
        since=push.since,
        lines=tuple(line for line in lines if line),
        options=(*pull, StatusOption(DROP, "Drop", "deny")),
        by=AnswerBy.PERSON,
        shown=digest_of((push.id, push.commit, *lines)),
    )


def item_of_setup(sandbox: Sandbox) -> InboxItem:
    """Return the item of a task that waits behind a failed set-up."""
    project, task = sandbox.project, sandbox.task
    reason = "" if project is None or project.reason is None else project.reason
    words = "" if task is None else " ".join(task.prompt.split())[:MAX_TASK_CHARS]
    lines = (spelled_out(f"The set-up failed. {reason}"), spelled_out(f"The task waits: {words}"))
    since = sandbox.ready_at or sandbox.created_at
    return InboxItem(
        id=f"{SETUP_ID}{sandbox.id}",
        kind=ItemKind.SETUP,
        sandbox_id=sandbox.id,
        sandbox_name=sandbox.name,
        since=since.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        lines=lines,
        options=(
            StatusOption(BEGIN, "Start the task anyway", "allow"),
            StatusOption(AGAIN, "Run the set-up again"),
            StatusOption(DROP, "Leave the task", "deny"),
        ),
        by=AnswerBy.PERSON,
        shown=digest_of((sandbox.id, str(sandbox.generation), *lines)),
        agent=sandbox.agent,
    )


def item_of_mention(mention: DashboardMention, dashboard_name: str) -> InboxItem:
    """Return the item of a mention, or of a todo that was assigned."""
    text = mention.text.splitlines()
    lines = tuple(spelled_out(line) for line in text[:MAX_LINES])
    kind = ItemKind.TODO if mention.kind is MentionKind.TODO else ItemKind.MENTION
    return InboxItem(
        id=mention.id,
        kind=kind,
        sandbox_id=None,
        sandbox_name=None,
        since=mention.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        lines=lines,
        options=(),
        by=AnswerBy.PERSON,
        shown=digest_of((mention.id, *lines)),
        place=BoardPlace(mention.dashboard_id, dashboard_name, mention.item_id),
        author=mention.author_name or mention.author,
    )


def agent_item_id(sandbox: Sandbox, agent: ReportedAgent) -> str:
    """Return the id of an agent's present question."""
    return "q_" + digest_of((sandbox.id, agent.id, agent.status.card, agent.status.since))[:16]


def _scopes(approval: Approval) -> tuple[ItemKind, tuple[GrantScope, ...]]:
    match approval.ask:
        case SecretAsk():
            return ItemKind.SECRET, tuple(GrantScope)
        case HostAsk():
            return ItemKind.HOST, (GrantScope.SANDBOX,)
        case CommandAsk():
            return ItemKind.COMMAND, (GrantScope.ONCE,)
        case ToolAsk():  # pragma: no branch - the cases are all
            return ItemKind.TOOL, (GrantScope.ONCE,)


_LABELS = {
    GrantScope.ONCE: "Allow once",
    GrantScope.SANDBOX: "Allow for this sandbox",
    GrantScope.ORGANIZATION: "Allow for every sandbox",
}


def _card_lines(card: CardRecord) -> tuple[str, ...]:
    """Return a card's title and text, line by line; says how much is left out."""
    text = card.text.splitlines()
    title = own_title(card.title, card.text)
    lines = [spelled_out(title), *(spelled_out(line) for line in text[:MAX_LINES])]
    if card.cut or len(text) > MAX_LINES:
        lines.append("… (this is not all: look at its card)")
    return tuple(line for line in lines if line)


def _digest(agent: ReportedAgent, texts: tuple[str, ...]) -> str:
    offered = (part for one in agent.status.options for part in (one.id, one.label, one.effect))
    return digest_of((agent.id, agent.status.card, *texts, "options", *offered))


def digest_of(parts: tuple[str, ...]) -> str:
    """Return what stands for these lines: no others have the same."""
    raw = [part.encode("utf-8", "surrogatepass") for part in parts]
    framed = b"".join(len(one).to_bytes(4, "big") + one for one in raw)
    return hashlib.sha256(framed).hexdigest()
