"""Extensions: installed backends, their capabilities, and what a check of the server's machine
finds.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.hosts.hosts import HostCost
from atoll.client.transport import Transport, get, post

DiskPromise = Literal["crash", "quiesced"]

IsolationLevel = Literal["none", "policy", "container", "microvm"]

HostKind = Literal["local", "ssh", "desktop"]


class Limits(Shape):
    """The most that one sandbox may have; null is no limit."""

    cpu = fields.decimal()
    memory_mb = fields.number()
    workspace_mb = fields.number()


class SnapshotPromise(Shape):
    """The promise of a backend about snapshots: the state that files of a running sandbox are
    kept in, whether what runs can be kept, whether the sandbox may run meanwhile, whether
    another host or backend can begin as one, whether a second one takes only what changed, and
    how many sandboxes begin as one at once."""

    disk: Field[DiskPromise] = fields.word()
    memory = fields.flag()
    running = fields.flag()
    cross_host = fields.flag()
    cross_backend = fields.flag()
    incremental = fields.flag()
    fork_max = fields.number()


class Capabilities(Shape):
    """The capabilities of a backend; `abilities` are optional protocols such as `snapshot`.
    `gpus` are the kinds of GPU that a sandbox can have, `images` the kinds of image that it
    shows (`host` is the machine's own `/usr`). `doors`: broker and egress proxy are served.
    `host_kind` is null on a vendor's machines; `needs_key`: a secret of the kind `extension`
    pays for them. `pools`: it builds environments before anybody asks for them."""

    isolation: Field[IsolationLevel] = fields.word()
    regions = fields.texts()
    gpu = fields.flag()
    gpus = fields.texts()
    persistence = fields.flag()
    pricing = fields.text()
    cost_per_hour = fields.one(HostCost)
    latency_class = fields.text()
    abilities = fields.texts()
    images = fields.texts()
    closes_network = fields.flag()
    doors = fields.flag()
    limits = fields.one(Limits)
    host_kind: Field[HostKind] = fields.word()
    needs_key = fields.flag()
    snapshots = fields.one(SnapshotPromise)
    pools = fields.flag()


class Extension(Shape):
    """A backend; `reason` tells why it is not available, and `trouble` what is wrong with one
    that is."""

    name = fields.text()
    available = fields.flag()
    reason = fields.text()
    trouble = fields.text()
    capabilities = fields.one(Capabilities)


class ExtensionList(Shape):
    """Every backend, by name."""

    extensions = fields.many(Extension)


class Finding(Shape):
    """The result of one check of the server's machine: `warn` is a limit that sandboxes lack,
    `fail` means that none is safe. `fix` says what to do, empty when nothing is needed."""

    name = fields.text()
    level: Field[Literal["ok", "warn", "fail"]] = fields.word()
    text = fields.text()
    fix = fields.text()


class FindingList(Shape):
    """All findings, most important first, and when they were made."""

    findings = fields.many(Finding)
    at = fields.text()


class Stray(Shape):
    """A machine of a vendor whose sandbox is gone, and when the vendor ends it by itself."""

    extension = fields.text()
    machine = fields.text()
    sandbox_id = fields.text()
    ends_at = fields.text()


class StrayList(Shape):
    """At most 1,000 of `count` strays; `problems` says which vendors could not be asked."""

    strays = fields.many(Stray)
    count = fields.number()
    problems = fields.texts()


class Reaped(Shape):
    """The number of strays that were ended; `problems` has a sentence for each failure."""

    ended = fields.number()
    problems = fields.texts()


class PlainExtensions:
    """The backends, and what their vendors rent to us. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> ExtensionList:
        """Return the backends of this server."""
        return self._transport.read(ExtensionList, get("extensions"))

    def strays(self) -> StrayList:
        """Return the machines that are rented for sandboxes which are gone."""
        return self._transport.read(StrayList, get("extensions", "strays"))

    def end_strays(self) -> Reaped:
        """End the machines that are rented for sandboxes which are gone."""
        return self._transport.read(Reaped, post("extensions", "strays", "end"))
