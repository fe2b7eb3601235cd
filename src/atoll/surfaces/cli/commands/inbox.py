"""`atoll inbox`: everything that waits for a person, and the answers.

As with `atoll approve`, an approval needs a person at a terminal, who reads words back.
"""

import sys

import click

from atoll.client.client import Client
from atoll.client.made.agents.agents import StatusOption
from atoll.client.made.agents.inbox import InboxAnswerBody, InboxItem
from atoll.domain.errors import Conflict, Forbidden, Invalid, NotFound
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import age
from atoll.surfaces.cli.console.options import json_option
from atoll.surfaces.cli.console.output import note, say, show_json
from atoll.surfaces.cli.dispatch.remote_names import inbox_items
from atoll.surfaces.cli.dispatch.verbs import Verbs

EFFECTS = {"yes": "allow", "y": "allow", "allow": "allow", "no": "deny", "n": "deny"}
"""The answers that stand for an option by its effect; `deny` is an option's own id."""
PERSON = "person"
LASTING = ("secret", "host")
"""The kinds whose approval goes on, and can be taken back."""
LOGIN = "login"
DISMISSED = ("mention", "todo", LOGIN)
"""The kinds that take no answer."""
PLAIN = ("push", "end", "setup", "conflict")
"""The kinds that widen nothing, and are answered without words."""


class _InboxGroup(Verbs):
    """A group that lists where no verb was given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the verb `list`."""
        helps = args[:1] and args[0] in ctx.help_option_names
        if not helps and (not args or args[0].startswith("-")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group("inbox", cls=_InboxGroup)
def command() -> None:
    """Show what waits for you, and answer it."""


@needs("approval.read")
@command.command("list")
@json_option()
@pass_invocation
def list_items(invocation: Invocation, *, as_json: bool) -> None:
    """List what waits for you, the longest waiting first."""
    answered = invocation.api().inbox.list()
    if as_json:
        show_json(answered.value)
        return
    for item in answered.items:
        _show(item)
    if not answered.items:
        note("nothing waits for you")


@needs("approval.decide")
@command.command("answer")
@click.argument("item", shell_complete=inbox_items)
@click.argument("answer")
@pass_invocation
def answer_item(invocation: Invocation, item: str, *, answer: str) -> None:
    """Answer ITEM: yes, no, one of its options, or words.

    ITEM is its id, or the beginning of one.
    """
    api = invocation.api()
    entry = _find(api.inbox.list().items, item)
    if entry.kind in DISMISSED:
        raise Conflict(f"{entry.id} takes no answer: `atoll inbox dismiss {entry.id}`")
    if entry.by == "terminal":
        raise Conflict(
            f"{entry.agent} takes this answer at its terminal only: "
            f"`atoll attach {entry.sandbox_name}`"
        )
    body = _body(entry, answer)
    if entry.by == PERSON and entry.kind not in PLAIN and body.get("option") != "deny":
        body["words"] = _read_words(api, entry)
    api.inbox.answer(entry.id, body)
    say(f"answered {entry.id}")
    if entry.kind in LASTING and body.get("option") != "deny":
        note(f"to undo it: atoll revoke {entry.id}")


@needs("dashboard.read")
@command.command("dismiss")
@click.argument("item", shell_complete=inbox_items)
@pass_invocation
def dismiss_item(invocation: Invocation, item: str) -> None:
    """Dismiss ITEM, a mention, a todo or a broken login: it does not wait for you any more.

    ITEM is its id, or the beginning of one. The comment, or the todo, stays on its dashboard.
    """
    api = invocation.api()
    entry = _find(api.inbox.list().items, item)
    if entry.kind not in DISMISSED:
        raise Invalid(f"{entry.id} takes an answer: `atoll inbox answer {entry.id} yes|no`")
    api.inbox.dismiss(entry.id)
    say(f"dismissed {entry.id}")


def _read_words(api: Client, item: InboxItem) -> str:
    """Return the words that a person read back for this approval."""
    if not sys.stdin.isatty():
        raise Forbidden("approving needs a person at a terminal: run it in one, or use the page")
    _show(item)
    confirmation = api.approvals.confirmation(item.id)
    note(f"To approve, type: {confirmation.words}")
    return click.prompt("Words", default="", show_default=False, err=True) or "-"


def _find(items: list[InboxItem], name: str) -> InboxItem:
    matches = [item for item in items if item.id == name]
    matches = matches or [item for item in items if item.id.startswith(name)]
    there = ", ".join(item.id for item in items if item.sandbox_name == name)
    if there and not matches:
        raise Invalid(
            f"what waits in {name} is {there}: name that, so that you answer what you saw"
        )
    if not matches:
        raise NotFound(f"nothing waits for you as {name!r}: `atoll inbox` shows what does")
    if len(matches) > 1:
        raise Invalid(f"{name!r} is the beginning of {len(matches)} ids: write more of it")
    return matches[0]


def _body(item: InboxItem, answer: str) -> InboxAnswerBody:
    """Return the body for what the person typed. An option's own id or label comes first."""
    shown: InboxAnswerBody = {"shown": item.shown}
    word = answer.strip()
    options = [option for option in item.options if word in (option.id, option.label)]
    effect = EFFECTS.get(word.lower())
    options = options or [option for option in item.options if option.effect == effect]
    if options:
        return {**shown, "option": options[0].id}
    if item.words:
        return {**shown, "text": answer}
    known = ", ".join(option.id for option in item.options) or "yes, no"
    raise Invalid(f"{item.id} takes one of: {known}")


def _show(item: InboxItem) -> None:
    if item.kind in DISMISSED:
        (_show_login if item.kind == LOGIN else _show_mention)(item)
        return
    who = f"{item.agent} in {item.sandbox_name}" if item.agent else item.sandbox_name
    say(f"{item.id}  {item.kind}, {who}, {age(item.since)} ago")
    for line in item.lines:
        say(f"  {line}")
    offered = ", ".join(_spell(item, option) for option in item.options)
    if item.by == "terminal":
        say(f"  -> atoll attach {item.sandbox_name}")
    elif offered:
        say(f"  -> {offered}{', or words' if item.words else ''}")
    else:
        say("  -> words")


def _spell(item: InboxItem, option: StatusOption) -> str:
    """Return the word for an option: of an agent's question its label, which is an answer too."""
    return option.label if item.kind == "agent" and option.effect == "other" else option.id


def _show_login(item: InboxItem) -> None:
    say(f"{item.id}  {item.kind}, {item.agent}, {age(item.since)} ago")
    for line in item.lines:
        say(f"  {line}")
    say(f"  -> atoll agent login {item.agent} --use, or atoll inbox dismiss {item.id}")


def _show_mention(item: InboxItem) -> None:
    place = item.place.dashboard_name
    say(f"{item.id}  {item.kind}, {item.author} on {place}, {age(item.since)} ago")
    for line in item.lines:
        say(f"  {line}")
    say(f"  -> atoll dashboard open {item.place.dashboard_id}, or atoll inbox dismiss {item.id}")
