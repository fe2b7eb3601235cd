"""The overview: search over names and texts, and usage over time.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape

HitKind = Literal["sandbox", "task", "branch", "dashboard", "secret", "member", "profile", "event"]


class Hit(Shape):
    """A found thing. `text` is what is around the words, where they are not in the name alone.
    `sandbox_id` is the sandbox it belongs to, null for what belongs to none."""

    kind: Field[HitKind] = fields.word()
    id = fields.text()
    title = fields.text()
    text = fields.text()
    sandbox_id = fields.text()
    at = fields.text()


class HitList(Shape):
    """The best hits first; `complete` says that there are no more."""

    hits = fields.many(Hit)
    complete = fields.flag()


class Standing(Shape):
    """The numbers of now, or the highest of a time: of running sandboxes, agents in them, those
    at work, and open terminals and machine agents."""

    sandboxes = fields.number()
    agents = fields.number()
    working = fields.number()
    sessions = fields.number()


class DoorCounts(Shape):
    """Counts of what passed the doors: `bytes_in` went from sandboxes into the network,
    `bytes_out` came back. Tokens are those of model providers, partly estimated."""

    requests = fields.number()
    refused = fields.number()
    bytes_in = fields.number()
    bytes_out = fields.number()
    tokens_in = fields.number()
    tokens_out = fields.number()


class UsagePoint(Shape):
    """The usage from `at` on, for the width of a bucket. `standing` is null where no control
    plane was at work."""

    at = fields.text()
    standing = fields.one(Standing)
    counts = fields.one(DoorCounts)


class Usage(Shape):
    """A series without holes, oldest first, with the highest standing and the sums of it all,
    and what there is now."""

    begin = fields.text()
    end = fields.text()
    bucket_seconds = fields.number()
    points = fields.many(UsagePoint)
    highest = fields.one(Standing)
    counts = fields.one(DoorCounts)
    now = fields.one(Standing)
