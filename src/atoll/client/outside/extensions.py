"""Extensions over the API: what is installed, what it can do, what is left out, and machines of
vendors that are left behind."""

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.hosts.hosts import HostCost, HostKind
from atoll.client.transport import Transport, get, post
from atoll.client.words import IsolationLevel
from atoll.domain.errors import NotFound


class Capabilities(Shape):
    """The abilities of a backend. `host_kind` is empty on a vendor's machines."""

    isolation: Field[IsolationLevel] = fields.word()
    regions = fields.texts()
    gpus = fields.texts()
    persistence = fields.flag()
    pricing = fields.text()
    cost_per_hour = fields.one(HostCost)
    latency_class = fields.text()
    abilities = fields.texts()
    images = fields.texts()
    closes_network = fields.flag()
    doors = fields.flag()
    host_kind: Field[HostKind] = fields.word()


class Extension(Shape):
    """A backend; `reason` says why it is not available, `trouble` that its calls fail."""

    name = fields.text()
    available = fields.flag()
    reason = fields.text()
    trouble = fields.text()
    capabilities = fields.one(Capabilities)


class ExtensionList(Shape):
    """Every backend, by name."""

    extensions = fields.many(Extension)


class Stray(Shape):
    """A machine whose sandbox is gone."""

    extension = fields.text()
    machine = fields.text()
    sandbox_id = fields.text()
    ends_at = fields.text()


class StrayList(Shape):
    """Machines whose sandboxes are gone, and what could not be looked at."""

    strays = fields.many(Stray)
    count = fields.number()
    problems = fields.texts()


class Reaped(Shape):
    """The number of machines that were ended, and what could not be."""

    ended = fields.number()
    problems = fields.texts()


class Extensions:
    """The extensions of a server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> ExtensionList:
        """Return all of them, those that are left out as well."""
        return self._transport.read(ExtensionList, get("extensions"))

    def get(self, name: str) -> Extension:
        """Return one, by its short or whole name. Raises `NotFound`."""
        for one in self.list().extensions:
            if name in (one.name, one.name.removeprefix("ext.")):
                return one
        raise NotFound(f"There is no extension {name[:80]!r} here.")

    def strays(self) -> StrayList:
        """Return the machines that are rented for sandboxes which are gone."""
        return self._transport.read(StrayList, get("extensions", "strays"))

    def end_strays(self) -> Reaped:
        """End them."""
        return self._transport.read(Reaped, post("extensions", "strays", "end"))
