"""Completion of what lies in a sandbox (paths, recordings, links, branches), and of local branches.

Names from inside a sandbox are hostile: a shell inserts what it is offered into the line that the
person runs next. Only plain characters are offered.
"""

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from atoll.client.made.agents.inbox import InboxList
from atoll.client.made.files import EntryPage
from atoll.client.made.library.commits import CommitPage
from atoll.client.made.people.shares import ShareList
from atoll.client.made.recordings import RecordingList
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.made.terminals import TerminalList
from atoll.client.transport import Call, api_path
from atoll.domain.errors import AtollError
from atoll.surfaces.cli.console.candidates import COMPLETION_SECONDS, filter_names, sandbox_names
from atoll.surfaces.cli.console.invocation import Invocation

GIT_SECONDS = 2.0


def remote_paths(context: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete `NAME:PATH`; without a colon the names, and files of this machine."""
    if typed.startswith((".", "/", "~", "-")):
        return [CompletionItem(typed, type="file")]
    completions = _complete(context, typed, _entries)
    return completions or ([] if ":" in typed else [CompletionItem(typed, type="file")])


def recordings(context: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete `NAME:RECORDING`, or a file."""
    completions = _complete(context, typed, _recordings)
    return completions or [CompletionItem(typed, type="file")]


def branches(_context: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the branches of the checkout that the person is in."""
    import subprocess  # loaded late, as all that only completion needs

    asked = ("git", "for-each-ref", "--format=%(refname:short)", "refs/heads")
    try:
        done = subprocess.run(asked, capture_output=True, timeout=GIT_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return []
    return _items(filter_names(done.stdout.decode("utf-8", "replace").splitlines(), typed))


_Inside = Callable[[Invocation, str, str], Iterable[str]]


def inner_paths(context: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete PATH of the sandbox that the line names before it."""
    return _complete_inside(context, typed, _entries)


def inner_recordings(
    context: click.Context, _: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Complete RECORDING of the sandbox that the line names before it."""
    return _complete_inside(context, typed, _recordings)


def inner_branches(context: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the branches that the sandbox's repositories are on."""
    return _complete_inside(context, typed, _inner_branches)


def links(context: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the share links of the sandbox that the line names before it."""
    return _complete_inside(context, typed, _links)


def terminals(context: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the terminals of the sandbox that the line names before it."""
    return _complete_inside(context, typed, _terminals)


def commits(context: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the commits of the sandbox that the line names before it."""
    return _complete_inside(context, typed, _commits)


def inbox_items(context: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the ids of what waits for the person."""
    return _complete_names(context, typed, _items_of)


def _complete_inside(context: click.Context, typed: str, inside: _Inside) -> list[CompletionItem]:
    # Where an option waits for its value, click leaves the words before it unread.
    name = context.params.get("name") or next(iter(context.args), "")
    if not name or name.startswith("-"):
        return []
    return _complete_names(context, typed, lambda invocation: inside(invocation, name, typed))


def _complete_names(
    context: click.Context, typed: str, names: Callable[[Invocation], Iterable[str]]
) -> list[CompletionItem]:
    invocation = context.find_object(Invocation)
    if invocation is None:
        return []
    try:
        return _items(filter_names(names(invocation), typed))
    except (AtollError, OSError):
        return []


def _complete(context: click.Context, typed: str, inside: _Inside) -> list[CompletionItem]:
    invocation = context.find_object(Invocation)
    if invocation is None:
        return []
    name, colon, rest = typed.partition(":")
    try:
        if not colon:
            names = sandbox_names(invocation.api(), seconds=COMPLETION_SECONDS)
            return _items(filter_names((f"{label}:" for label in names), typed))
        labels = (f"{name}:{label}" for label in inside(invocation, name, rest))
        return _items(filter_names(labels, typed))
    except (AtollError, OSError):
        return []


def _entries(invocation: Invocation, name: str, rest: str) -> Iterable[str]:
    folder, slash, _ = rest.rpartition("/")
    query = (("path", folder or slash or "."),)
    call = Call("GET", api_path("sandboxes", name, "files"), query, timeout=COMPLETION_SECONDS)
    listed = invocation.api().transport.read(EntryPage, call)
    for entry in listed.entries:
        yield f"{folder}{slash}{entry.name}" + ("/" if entry.type == "dir" else "")


def _recordings(invocation: Invocation, name: str, _rest: str) -> Iterable[str]:
    place = api_path("sandboxes", name, "recordings")
    call = Call("GET", place, timeout=COMPLETION_SECONDS)
    listing = invocation.api().transport.read(RecordingList, call)
    return (recording.recording_id for recording in listing.recordings)


def _inner_branches(invocation: Invocation, name: str, _rest: str) -> Iterable[str]:
    call = Call("GET", api_path("sandboxes", name), timeout=COMPLETION_SECONDS)
    return (repo.branch for repo in invocation.api().transport.read(Sandbox, call).repos)


def _links(invocation: Invocation, name: str, _rest: str) -> Iterable[str]:
    call = Call("GET", api_path("sandboxes", name, "shares"), timeout=COMPLETION_SECONDS)
    return (share.share_id for share in invocation.api().transport.read(ShareList, call).shares)


def _terminals(invocation: Invocation, name: str, _rest: str) -> Iterable[str]:
    call = Call("GET", api_path("sandboxes", name, "terminals"), timeout=COMPLETION_SECONDS)
    listing = invocation.api().transport.read(TerminalList, call)
    return (terminal.terminal_id for terminal in listing.terminals)


def _commits(invocation: Invocation, name: str, _rest: str) -> Iterable[str]:
    call = Call("GET", api_path("sandboxes", name, "commits"), timeout=COMPLETION_SECONDS)
    return (commit.commit for commit in invocation.api().transport.read(CommitPage, call).commits)


def _items_of(invocation: Invocation) -> Iterable[str]:
    call = Call("GET", api_path("inbox"), timeout=COMPLETION_SECONDS)
    return (entry.id for entry in invocation.api().transport.read(InboxList, call).items)


def _items(names: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names]
