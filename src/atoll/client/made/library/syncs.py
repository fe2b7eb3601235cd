"""Syncs: newer commits of a person's branch, brought into a sandbox.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape

SyncOutcome = Literal["updated", "current", "conflict", "aborted", "clean"]

SyncAct = Literal["rebase", "abort", "look"]


class Sync(Shape):
    """The result: HEAD is at `commit` after `commits` newer ones. `files` are in conflict;
    `more` counts those left out. With `stashed`, uncommitted changes did not fit and are in a
    stash."""

    outcome: Field[SyncOutcome] = fields.word()
    onto = fields.text()
    commit = fields.text()
    commits = fields.number()
    files = fields.texts()
    more = fields.number()
    stashed = fields.flag()
    agent = fields.text()


class SyncBody(TypedDict, total=False):
    """The branch to rebase onto (by default the one the sandbox's branch began from). `abort`
    gives up a rebase that stopped, `look` changes nothing. With `agent`, the sandbox's agent is
    prompted to resolve a conflict. While an agent works, only `now` syncs."""

    repo: int
    onto: str | None
    act: SyncAct
    agent: bool
    now: bool
