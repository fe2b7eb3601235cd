"""The event log: pages of it, and a stream of it.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape

ActorKind = Literal["adm", "agt", "atm"]


class Gap(Shape):
    """A gap in what a reader received: of the events after position `after` and up to `to`, some
    are no longer kept. The kept ones still come. Where `to` is less than `after`, the log was
    set back: it ends at `to` and has not what the reader received. What comes next follows `to`."""

    after = fields.number()
    to = fields.number()


class Actor(Shape):
    """The actor of an event."""

    kind: Field[ActorKind] = fields.word()
    id = fields.text()


class Event(Shape):
    """An event in its envelope."""

    id = fields.text()
    position = fields.number()
    stream = fields.text()
    seq = fields.number()
    event_type = fields.text()
    event_version = fields.number()
    at = fields.text()
    org_id = fields.text()
    actor = fields.one(Actor)
    reason = fields.text()
    payload = fields.one(Shape)


class EventPage(Shape):
    """A page, oldest first; `next` is the following `after`. `gap` is the requested part that is
    no longer kept, null when nothing is missing. Where its `to` is less than its `after`, the
    log was set back and ends at `to`."""

    events = fields.many(Event)
    next = fields.number()
    gap = fields.one(Gap)
