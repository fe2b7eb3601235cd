"""Work that is lost with a sandbox: listed before `stop`, `recreate` and `destroy`.

Names and subjects come from inside a sandbox; `note` cleans what it prints.
"""

import shlex
import sys
from dataclasses import dataclass
from enum import Enum

import click

from atoll.client.client import Client
from atoll.client.made.library.unpulled import HeldPush, UnpulledPlace
from atoll.client.made.sandboxes.views import Sandbox
from atoll.domain.errors import AtollError
from atoll.surfaces.cli.console.moments import moment_with_time_left
from atoll.surfaces.cli.console.output import clean, confirm, note
from atoll.surfaces.cli.console.waiting import name_of

SHOWN = 10
"""Files named of one place."""

NOTHING_THERE = ("requested", "provisioning", "destroying", "destroyed")


class Choice(Enum):
    """The decision about a sandbox with unpulled work."""

    LEAVE = "leave"
    LOSE = "lose"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class SandboxWork:
    """The work in one sandbox; `unknown` says why it cannot be listed. `pushes` are held on the
    server, so they are not lost."""

    name: str
    places: tuple[UnpulledPlace, ...] = ()
    unknown: str = ""
    pushes: tuple[HeldPush, ...] = ()
    sandbox_id: str = ""

    def __bool__(self) -> bool:
        """Return whether something may be lost."""
        return bool(self.places or self.unknown)

    def __str__(self) -> str:
        if self.unknown:
            return f"the unpulled work in {self.name} cannot be listed ({self.unknown})"
        return (
            f"{self.name} holds work that was not pulled: {'; '.join(map(_summary, self.places))}"
        )


def find_unpulled(api: Client, sandbox: Sandbox) -> SandboxWork:
    """Return the work in a sandbox that nobody pulled."""
    name = name_of(sandbox)
    if sandbox.state in NOTHING_THERE:
        return SandboxWork(name)
    if sandbox.state == "failed" and not sandbox.ready_at:
        return SandboxWork(name)
    try:
        work = api.sandboxes.unpulled(sandbox.sandbox_id)
    except AtollError as error:
        return SandboxWork(name, unknown=error.message)
    return SandboxWork(
        name, tuple(work.places), pushes=tuple(work.pushes), sandbox_id=sandbox.sandbox_id
    )


def print_work(work: SandboxWork, *, gone: bool = False) -> None:
    """Print commits, files and held pushes, on stderr. With `gone`, its name will mean nothing
    afterwards, and its id brings a held push."""
    ref = work.sandbox_id if gone else work.name
    for push in work.pushes[:SHOWN]:
        commits = _count(push.commits, "new commit")
        until = moment_with_time_left(push.kept_until)
        note(
            f"{work.name} pushed {push.branch} ({commits}), held until {until}: "
            f"`atoll pull {ref} --pushed {shlex.quote(push.branch)}`"
        )
    if left := len(work.pushes[SHOWN:]):
        note(f"… and {left} more: `atoll pull {ref} --pushed` lists them")
    if not work:
        return
    note(str(work))
    for place in work.places:
        changed, untracked = place.changed, place.untracked
        named = [f"changed    {path}" for path in changed]
        named += [f"untracked  {path}" for path in untracked]
        for line in named[:SHOWN]:
            note(f"  {line}")
        left = len(named) - len(named[:SHOWN]) + place.more
        if left:
            note(f"  … and {left} more")


def leave_out_unknown(
    sandboxes: list[Sandbox], works: list[SandboxWork], *, yes: bool, lose: bool
) -> list[Sandbox]:
    """Return the sandboxes that may be destroyed; of the others it is said why. `yes` agrees to
    lose what was listed, not what nobody knows: that takes `lose`."""
    going = []
    for sandbox, work in zip(sandboxes, works, strict=True):
        if lose or not (yes and work.unknown):
            going.append(sandbox)
            continue
        note(
            f"atoll: {work.name} was not destroyed, because nobody knows what would be lost: "
            "--lose-work destroys it nevertheless"
        )
    return going


def choose(
    question: str, works: list[SandboxWork], *, yes: bool, keep: bool, saved: bool = False
) -> Choice:
    """Return the person's choice. Without a terminal only `yes` and `keep` let unpulled work go.

    `saved` says that the server saves the work first, so that `atoll pull --saved` finds it.
    """
    chosen = Choice.KEEP if keep else Choice.LOSE
    if yes:
        return chosen
    if not sys.stdin.isatty():
        return _decide_unasked(question, works, keep=keep, saved=saved)
    if keep or not any(works):
        after = " Its files are kept first." if keep else ""
        return chosen if confirm(f"{question}{after}", yes=False) else Choice.LEAVE
    going = "save this work on the server and go on" if saved else "lose this work"
    answer: str = click.prompt(
        clean(f"{question} y: {going}, k: keep its files first, n: leave it"),
        type=click.Choice(("y", "k", "n")),
        default="n",
        err=True,
    )
    return {"y": Choice.LOSE, "k": Choice.KEEP, "n": Choice.LEAVE}[answer]


def _decide_unasked(question: str, works: list[SandboxWork], *, keep: bool, saved: bool) -> Choice:
    if keep:
        return Choice.KEEP
    if any(works) and saved:
        note(
            "atoll: nothing was done: add --yes to go on (that work is saved first, and "
            "`atoll pull --saved` brings it), or --keep-worktree to keep its files here"
        )
        return Choice.LEAVE
    if any(works):
        note(
            "atoll: nothing was done, because that work would be lost: `atoll pull` it, or add "
            "--keep-worktree to keep its files, or --yes to lose them"
        )
        return Choice.LEAVE
    return Choice.LOSE if confirm(question, yes=False) else Choice.LEAVE


def _summary(place: UnpulledPlace) -> str:
    parts = []
    commits, stashes = place.commits, place.stashes
    if commits:
        subject = f" ({place.subject})" if place.subject else ""
        parts.append(f"{_count(commits, 'commit')} up to {place.tip[:12]}{subject}")
    if stashes:
        parts.append(_count(stashes, "stash", "stashes"))
    for kind, files in (("changed", place.changed), ("untracked", place.untracked)):
        if files:
            parts.append(f"{_count(len(files), 'file')} {kind}")
    if more := place.more:
        parts.append(f"{more} more")
    return f"{place.path}: {', '.join(parts)}"


def _count(number: int, noun: str, several: str = "") -> str:
    return f"{number} {noun if number == 1 else several or noun + 's'}"
