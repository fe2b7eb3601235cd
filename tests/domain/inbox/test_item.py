"""Items of the inbox: what they show, and what stands for it."""

import dataclasses
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from atoll.domain.approvals.approval import (
    Approval,
    ApprovalId,
    Ask,
    CommandAsk,
    HostAsk,
    Requester,
    SecretAsk,
    ToolAsk,
    digest,
    shown_lines,
)
from atoll.domain.dashboards.mention import DashboardMention, MentionId, MentionKind
from atoll.domain.errors import Invalid
from atoll.domain.ids import PERSONAL_ORG, DashboardId, PrincipalId
from atoll.domain.inbox.item import (
    MAX_LINES,
    BoardPlace,
    PushedBranch,
    agent_item_id,
    answer_after_sleep,
    item_of_agent,
    item_of_approval,
    item_of_mention,
    item_of_push,
    item_of_setup,
)
from atoll.domain.repository.project import ProjectFile
from atoll.domain.sandboxes.project import SandboxProject
from atoll.domain.sandboxes.reported import ReportedAgent
from atoll.domain.sandboxes.task import Task
from atoll.testing.samples import NOW, sandbox
from atoll.wire.contract.agents import CardRecord, StatusOption, StatusRecord
from atoll.wire.words.agents import AnswerBy, ItemKind
from atoll.wire.words.sandboxes import SetupState, State

HERE = sandbox("one")
STATUS = StatusRecord(
    "needs_you",
    "2026-01-01T00:00:00.000Z",
    question="Allow Bash? npm…",
    card="approval:1",
    answer="protocol",
    options=(StatusOption("allow", "Allow", "allow"),),
)
AGENT = ReportedAgent("g_1", "codex", "machine", STATUS)
CARD = CardRecord("approval:1", 1, "pending", "Allow Bash?", "npm publish\nrm \u202e\x1b[2J")


def test_item_shows_the_whole_card_without_characters_that_hide() -> None:
    item = item_of_agent(HERE, AGENT, CARD)
    assert item.lines == ("Allow Bash?", "npm publish", "rm \\u202e\\x1b[2J")
    assert (item.by, item.options, item.card) == (
        AnswerBy.PROTOCOL,
        STATUS.options,
        "approval:1",
    )


def test_item_says_that_a_long_card_is_not_all_shown() -> None:
    many = replace(CARD, text="x\n" * (MAX_LINES + 1))
    assert "not all" in item_of_agent(HERE, AGENT, many).lines[-1]
    assert "not all" in item_of_agent(HERE, AGENT, replace(CARD, cut=True)).lines[-1]


def test_shown_stands_for_all_that_an_answer_depends_on() -> None:
    shown = item_of_agent(HERE, AGENT, CARD).shown
    hidden = replace(CARD, text="x\n" * (MAX_LINES + 1))
    others = [
        item_of_agent(HERE, AGENT, replace(CARD, text="npm publish")),
        item_of_agent(HERE, AGENT, replace(CARD, title="Allow?")),
        item_of_agent(HERE, replace(AGENT, status=replace(STATUS, options=())), CARD),
        item_of_agent(HERE, replace(AGENT, status=replace(STATUS, card="approval:2")), CARD),
        item_of_agent(HERE, AGENT, hidden),
        item_of_agent(HERE, AGENT, replace(hidden, text=hidden.text + "y")),
    ]
    assert len({shown, *(one.shown for one in others)}) == 1 + len(others)


def test_id_names_one_question_of_one_agent() -> None:
    later = replace(AGENT, status=replace(STATUS, since="2026-01-01T00:00:01.000Z"))
    other = replace(AGENT, id="g_2")
    ids = {agent_item_id(HERE, one) for one in (AGENT, later, other)}
    assert len(ids) == 3 and agent_item_id(HERE, AGENT) in ids


def test_question_without_its_card_is_for_the_terminal() -> None:
    item = item_of_agent(HERE, AGENT, None)
    assert (item.by, item.options) == (AnswerBy.TERMINAL, ())
    assert item.lines == ("Allow Bash? npm…",)


def test_question_of_an_agent_that_sleeps_is_answered_in_words() -> None:
    asleep = dataclasses.replace(HERE, state=State.STOPPED, asleep_since=NOW)
    item = item_of_agent(asleep, AGENT, None)
    assert (item.by, item.options) == (AnswerBy.PROTOCOL, STATUS.options)
    said = answer_after_sleep(item, "allow", None)
    assert said == ("Before this sandbox slept you asked: Allow Bash? npm…\nThe answer is: Allow")
    assert answer_after_sleep(item, None, "use SQLite").endswith("The answer is: use SQLite")
    with pytest.raises(Invalid, match="takes one of: allow"):
        answer_after_sleep(item, "never", None)


@pytest.mark.parametrize(
    ("ask", "kind", "answers"),
    [
        (SecretAsk("KEY", "sec_1", 1, "a.example", 443), ItemKind.SECRET, 4),
        (HostAsk("a.example", 443), ItemKind.HOST, 2),
        (CommandAsk(("make",), "/workspace"), ItemKind.COMMAND, 2),
        (ToolAsk("db.drop", "{}"), ItemKind.TOOL, 2),
    ],
)
def test_approval_is_an_item_with_the_answers_it_takes(
    ask: Ask, kind: ItemKind, answers: int
) -> None:
    requester = Requester(HERE.id, HERE.name, 1, "a_1")
    approval = Approval(
        ApprovalId("ap_1"), HERE.org_id, HERE.owner, requester, ask, HERE.created_at, None
    )
    item = item_of_approval(approval, AGENT)
    assert (item.kind, len(item.options), item.by) == (kind, answers, AnswerBy.PERSON)
    assert (item.lines, item.shown) == (shown_lines(approval), digest(approval))
    assert (item.agent, item.agent_id) == ("codex", "g_1")
    assert item_of_approval(approval, None).agent is None


def test_held_push_is_an_item_that_shows_no_hiding_characters() -> None:
    push = PushedBranch(
        "kept_1", HERE.id, HERE.name, "2026-01-01T00:00:00.000Z", "fix", "a" * 40, 1, "a\x1b[2J"
    )
    item = item_of_push(push)
    assert item.lines == ("branch fix: 1 new commit up to aaaaaaaaaaaa", "a\\x1b[2J")
    assert [one.id for one in item.options] == ["pull", "drop"]
    assert item_of_push(dataclasses.replace(push, commits=2, subject="")).lines == (
        "branch fix: 2 new commits up to aaaaaaaaaaaa",
    )
    assert item.shown != item_of_push(dataclasses.replace(push, commit="b" * 40)).shown


def test_item_of_a_setup_names_the_task_that_waits() -> None:
    bare = item_of_setup(HERE)
    assert (bare.lines, bare.since) == (
        ("The set-up failed. ", "The task waits: "),
        item_of_setup(dataclasses.replace(HERE, ready_at=HERE.created_at)).since,
    )
    failed = SandboxProject(
        "o/r", "d", ProjectFile("f"), state=SetupState.FAILED, reason="Exit 1.\x1b"
    )
    waiting = dataclasses.replace(HERE, agent="codex", project=failed, task=Task("Mend\n it\u202e"))
    item = item_of_setup(waiting)
    assert item.lines == ("The set-up failed. Exit 1.\\x1b", "The task waits: Mend it\\u202e")
    assert [one.id for one in item.options] == ["begin", "again", "drop"]
    assert (item.kind, item.by, item.agent) == (ItemKind.SETUP, AnswerBy.PERSON, "codex")
    assert item.shown != bare.shown and item.id == f"setup_{HERE.id}"


def test_mention_shows_who_wrote_what_and_where_as_plain_lines() -> None:
    mention = DashboardMention(
        MentionId("mnt_1"),
        PERSONAL_ORG,
        DashboardId("dsh_1"),
        "itm_1",
        PrincipalId("bob"),
        MentionKind.COMMENT,
        PrincipalId("ann"),
        "Ann",
        "Look,\n@bob\x1b[2J",
        datetime(2026, 1, 1, tzinfo=UTC),
    )
    item = item_of_mention(mention, "Plan")
    assert item.lines == ("Look,", "@bob\\x1b[2J")
    assert (item.kind, item.author, item.sandbox_id) == (ItemKind.MENTION, "Ann", None)
    assert item.place == BoardPlace("dsh_1", "Plan", "itm_1")
    assert (item.since, item.options) == ("2026-01-01T00:00:00.000Z", ())
    todo = dataclasses.replace(mention, kind=MentionKind.TODO, author_name="", text="")
    other = item_of_mention(todo, "Plan")
    assert (other.kind, other.author, other.lines) == (ItemKind.TODO, "ann", ())
