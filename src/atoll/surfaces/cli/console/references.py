"""References: what a person writes for a thing, and the id that it means.

A reference is an id, the beginning of one, or a name that one thing alone has. The server takes
ids, and names of sandboxes; the rest is found here, in what the matching `list` shows.
"""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from atoll.domain.errors import Conflict, Invalid, NotFound
from atoll.domain.stream import SINGLE_STREAMS

if TYPE_CHECKING:  # completion and help must not pay for loading it
    from atoll.client.client import Client

MAX_SHOWN = 80
_BEGINNING = re.compile(r"([a-z]+_[a-z2-7]{2,15})(?:…|\.\.\.)?")
"""The shortest has two characters that differ from id to id. An id that a page or table cut may be
pasted as it stands."""

Thing = tuple[str, ...]
"""The id of a thing, and its names."""


class Kind(NamedTuple):
    """A kind of thing that is named on the command line: how its ids begin, its name for people,
    and the command that lists them."""

    prefix: str
    noun: str
    lists: str


APPROVAL = Kind("ap_", "approval", "atoll approvals")
DASHBOARD = Kind("dsh_", "dashboard", "atoll dashboard list")
DASHBOARD_LINK = Kind("sh_", "link", "atoll dashboard links NAME")
EXEC = Kind("x_", "command", "atoll info NAME")
HOOK = Kind("hook_", "hook", "atoll hook list")
INVITATION = Kind("inv_", "invitation", "atoll org invitations")
KEPT = Kind("kept_", "kept tree", "atoll kept")
LINK = Kind("sh_", "link", "atoll share list NAME")
LOGIN = Kind("alg_", "login", "atoll agent logins")
PREVIEW = Kind("pv_", "preview", "atoll preview list NAME")
RECORDING = Kind("rec_", "recording", "atoll record NAME --list")
SANDBOX = Kind("sb_", "sandbox", "atoll list")
SSH_KEY = Kind("key_", "SSH key", "atoll ssh key list")
TERMINAL = Kind("t_", "terminal", "atoll info NAME")
TOKEN = Kind("tok_", "token", "atoll token list")
WEBHOOK = Kind("whk_", "webhook", "atoll webhook list")


def pick_id(kind: Kind, reference: str, listed: Callable[[], Iterable[Thing]]) -> str:
    """Return the id of a thing. Raises `NotFound` with the nearest name, and `Conflict` where
    several are meant, and `Invalid` for an empty reference. `listed` is called only where the
    reference is no whole id."""
    if not reference.strip():
        raise Invalid(f"the name of a {kind.noun} is empty: `{kind.lists}` shows which there are")
    if _is_whole(kind, reference):
        return reference
    things = list(listed())
    matches = _matching_ids(reference, things)
    if len(matches) == 1:
        return matches[0]
    shown = reference[:MAX_SHOWN]
    if matches:
        ids = ", ".join(matches[:8])
        raise Conflict(
            f"several {kind.noun}s are meant by {shown!r} ({ids}): use the id", code="ambiguous"
        )
    known = [name for thing in things for name in thing if name]
    near = did_you_mean(reference, known) or f": `{kind.lists}` shows which there are"
    raise NotFound(f"there is no {kind.noun} {shown!r}{near}")


def _is_whole(kind: Kind, reference: str) -> bool:
    """Report whether a reference is for the server to judge: it looks like an id, and is not the
    beginning of one."""
    return reference.startswith(kind.prefix) and not _BEGINNING.fullmatch(reference)


def _matching_ids(reference: str, things: Iterable[Thing]) -> list[str]:
    """Return the ids that a reference means: a whole id or name comes before a beginning."""
    named = [thing[0] for thing in things if reference and reference in thing]
    if named:
        return [reference] if reference in named else named
    beginning = _BEGINNING.fullmatch(reference)
    return [thing[0] for thing in things if beginning and thing[0].startswith(beginning[1])]


def whole_name(api: "Callable[[], Client]", name: str) -> str:
    """Return the whole id for the beginning of a sandbox's, and any other name as it is."""
    if not (name.startswith("sb_") and _BEGINNING.fullmatch(name)):
        return name
    listed = api().sandboxes.list
    return pick_id(SANDBOX, name, lambda: ((row.sandbox_id, row.name) for row in listed()))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `: did you mean …?` with at most three names near `word`; empty without one."""
    near = get_close_matches(word[:MAX_SHOWN], list(dict.fromkeys(known)), n=3, cutoff=0.6)
    if not near:
        return ""
    return ": did you mean " + " or ".join(f"`{name}`" for name in near) + "?"


def approval_id(api: "Client", reference: str) -> str:
    """Return the id of an approval, decided or not."""
    listed = api.approvals.list
    return pick_id(APPROVAL, reference, lambda: ((row.approval_id,) for row in listed().approvals))


def exec_id(api: "Client", sandbox: str, reference: str) -> str:
    """Return the id of a command of a sandbox; what is no beginning of one is for the server."""
    if not reference.startswith(EXEC.prefix):
        return reference
    listed = api.execs.list
    return pick_id(EXEC, reference, lambda: ((row.exec_id,) for row in listed(sandbox).execs))


def link_id(api: "Client", sandbox: str, reference: str) -> str:
    """Return the id of a share link of a sandbox, which may be named by its label."""
    listed = api.shares.list
    return pick_id(
        LINK, reference, lambda: ((row.share_id, row.name) for row in listed(sandbox).shares)
    )


def recording_id(api: "Client", sandbox: str, reference: str) -> str:
    """Return the id of a recording of a sandbox."""
    listed = api.terminals.recordings
    return pick_id(
        RECORDING, reference, lambda: ((row.recording_id,) for row in listed(sandbox).recordings)
    )


def terminal_id(api: "Client", sandbox: str, reference: str) -> str:
    """Return the id of a terminal of a sandbox, which may be named by its name. The newest one has
    a name that several had."""
    if _is_whole(TERMINAL, reference):
        return reference
    rows = sorted(api.terminals.list(sandbox).terminals, key=lambda row: row.started_at)
    last = {row.name: row.terminal_id for row in rows if row.name}
    return last.get(reference) or pick_id(
        TERMINAL, reference, lambda: ((row.terminal_id, row.name) for row in rows)
    )


def stream_of(api: "Client", text: str) -> str:
    """Return the stream of events that a text means: `sandbox:NAME` has the id in it, and the bare
    name of a sandbox is its stream."""
    kind, colon, name = text.partition(":")
    if text in SINGLE_STREAMS or (colon and kind != "sandbox"):
        return text
    if colon and (name == "*" or _is_whole(SANDBOX, name)):
        return text
    sandbox = api.sandboxes.get(whole_name(lambda: api, name if colon else text))
    return f"sandbox:{sandbox.sandbox_id}"
