"""Quotas, as the API sends and takes them."""

from typing import TypedDict

from atoll.client import fields
from atoll.client.fields import Shape


class QuotaBody(TypedDict, total=False):
    """A quota; what is left out is not limited."""

    sandboxes: int | None
    concurrentSessions: int | None
    cpu: str | None
    memory: str | None
    storage: str | None


class Quantities(Shape):
    """Quantities as they are written; a limit that is not there is empty or -1."""

    sandboxes = fields.number(-1)
    concurrentSessions = fields.number(-1)
    cpu = fields.text()
    memory = fields.text()
    storage = fields.text()


class HeldQuota(Shape):
    """A quota beside what is held; `member` is empty for the organization's."""

    member = fields.text()
    quota = fields.one(Quantities)
    used = fields.one(Quantities)


class QuotaList(Shape):
    """Quotas: the organization's first."""

    quotas = fields.many(HeldQuota)
