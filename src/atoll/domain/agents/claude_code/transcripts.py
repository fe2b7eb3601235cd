"""Threads of Claude Code as its transcripts hold them: what to run inside, and how to read it.

A transcript is `projects/<directory>/<session>.jsonl`. Claude resumes only those of the directory
it runs in, so others are not listed.
"""

import re
from collections.abc import Iterator, Sequence

from atoll.domain.agents.card import AgentReport, CardKind, Draft, Value
from atoll.domain.agents.claude_code.cards import ClaudeCards, message_name
from atoll.domain.agents.conversation import AgentEvent
from atoll.domain.agents.lenient_json import (
    Message,
    read_int,
    read_object,
    read_objects,
    read_text,
    short,
)
from atoll.domain.agents.threads.questions import Names, Questions
from atoll.domain.agents.threads.requests import started_turns, turns_of
from atoll.domain.agents.threads.thread import ThreadEvents, thread_of

MAX_THREADS = 100
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")

_WHERE = 'cd "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/projects/$1" 2>/dev/null || exit 0\n'
# The beginning of each is enough for its first prompt.
_LIST = (
    _WHERE
    + """\
ls -t | head -n "$2" | while IFS= read -r file; do
  printf '{"transcript":"%s","at":%s}\\n' "$file" "$(stat -c %Y -- "$file")"
  head -n 12 -- "$file" | head -c 65536
  echo
done
"""
)
_READ = _WHERE + 'tail -c 4194304 -- "$2.jsonl" 2>/dev/null\n'


def is_thread(name: str) -> bool:
    """Report whether this may be the id of a session."""
    return _ID.match(name) is not None


def list_argv(cwd: str, most: int) -> tuple[str, ...]:
    """Return a program that prints the beginning of each transcript, newest first."""
    return ("sh", "-c", _LIST, "sh", _directory(cwd), str(most))


def read_argv(cwd: str, thread: str) -> tuple[str, ...]:
    """Return a program that prints the end of one transcript."""
    return ("sh", "-c", _READ, "sh", _directory(cwd), thread)


def list_threads(messages: Sequence[Message], cwd: str) -> list[dict[str, Value]]:
    """Return the threads of a listing."""
    threads: list[dict[str, Value]] = []
    for message in messages:
        file = read_text(message, "transcript")
        if file:
            name = file.removesuffix(".jsonl")
            shown = thread_of(name, cwd)
            if is_thread(name):
                threads.append({**shown, "updatedAt": read_int(message, "at")})
        elif threads and not threads[-1]["preview"]:
            threads[-1]["preview"] = short(_prompt(message))
    return threads


def preview(messages: Sequence[Message]) -> str:
    """Return the first prompt of a transcript."""
    return short(next(filter(None, map(_prompt, messages)), ""))


def turns(messages: Sequence[Message], thread: str) -> list[dict[str, Value]]:
    """Return the turns of a transcript, with their items."""
    return turns_of(_events(messages, thread))


def _events(messages: Sequence[Message], thread: str) -> Iterator[AgentEvent]:
    cards, events = ClaudeCards(), ThreadEvents(thread, Questions(Names(thread)))
    for message in messages:
        if message.get("isSidechain") is True:
            continue
        reports: list[AgentReport] = _steering_cards(cards, message) or cards.take(message)
        for turn in started_turns(reports)[:1]:
            if events.turn:
                yield from events.ends()
            yield from events.begins(turn)
        name = message_name(message, events.turn)
        name = name or read_text(read_object(message, "attachment"), "source_uuid")
        if events.turn:
            yield from events.heard(_items_of(reports), name=name)
    if events.turn:
        yield from events.ends()


def _items_of(reports: Sequence[AgentReport]) -> list[AgentReport]:
    return [
        report
        for report in reports
        if isinstance(report, Draft) and report.kind is not CardKind.QUESTION
    ]


def _steering_cards(cards: ClaudeCards, message: Message) -> list[AgentReport]:
    """Return what a person said during a turn, which a transcript holds as an attachment."""
    attachment = read_object(message, "attachment")
    if read_text(attachment, "type") != "queued_command":
        return []
    words = [read_text(piece, "text") for piece in read_objects(attachment, "prompt")]
    return cards.steered("\n".join(words))


def _prompt(message: Message) -> str:
    if read_text(message, "type") != "user" or message.get("isMeta") is True:
        return ""
    content = read_object(message, "message").get("content")
    if isinstance(content, str):
        return content
    return read_text(
        next(iter(read_objects(read_object(message, "message"), "content")), {}), "text"
    )


def _directory(cwd: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", cwd)
