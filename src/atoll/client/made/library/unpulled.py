"""Unpulled work: work that would be lost with a sandbox, pushes that wait for their owner, and
commits that a person has outside.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Shape


class HeldPush(Shape):
    """A held push: `commits` new commits of repository number `repo`, up to `commit`, whose
    first line is `subject`. `GET /v1/kept/{kept_id}/bundle` brings it."""

    kept_id = fields.text()
    repo = fields.number()
    branch = fields.text()
    ref = fields.text()
    commit = fields.text()
    commits = fields.number()
    subject = fields.text()
    bytes = fields.number()
    pushed_at = fields.text()
    kept_until = fields.text()


class PushList(Shape):
    """The held pushes of a sandbox, newest first."""

    pushes = fields.many(HeldPush)


class UnpulledPlace(Shape):
    """Unpulled work of repository number `repo`, or with `repo` None the files beside all of
    them. `tip` is the newest of `commits` new commits, `subject` its first line; `more` counts
    the files that `changed` and `untracked` leave out."""

    path = fields.text()
    repo = fields.number()
    branch = fields.text()
    commits = fields.number()
    tip = fields.text()
    subject = fields.text()
    stashes = fields.number()
    changed = fields.texts()
    untracked = fields.texts()
    more = fields.number()


class Unpulled(Shape):
    """Every place with such work; none when nothing would be lost. `pushes` are branches that
    were pushed inside and are held on the server; they stay there for their time."""

    places = fields.many(UnpulledPlace)
    pushes = fields.many(HeldPush)


class PulledBody(TypedDict, total=False):
    """Repository number `repo` is outside up to `commit`."""

    repo: int
    commit: Required[str]
