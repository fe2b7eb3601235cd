"""Extensions: installed backends, their capabilities, and what a check of the server's machine
finds."""

from typing import Literal

from atoll.wire.api.hosts.hosts import HostCostView
from atoll.wire.api.operation import Answer, Area, operation
from atoll.wire.words.hosts import MAX_EXTENSIONS, MAX_FINDINGS, MAX_STRAYS, HostKind
from atoll.wire.words.sandboxes import DiskPromise
from atoll.wire.words.walls import IsolationLevel


class LimitsView(Answer):
    """The most that one sandbox may have; null is no limit."""

    cpu: float | None
    memory_mb: int | None
    workspace_mb: int | None


class SnapshotPromiseView(Answer):
    """The promise of a backend about snapshots: the state that files of a running sandbox are kept
    in, whether what runs can be kept, whether the sandbox may run meanwhile, whether another host
    or backend can begin as one, whether a second one takes only what changed, and how many
    sandboxes begin as one at once."""

    disk: DiskPromise
    memory: bool
    running: bool
    cross_host: bool
    cross_backend: bool
    incremental: bool
    fork_max: int


class CapabilitiesView(Answer):
    """The capabilities of a backend; `abilities` are optional protocols such as `snapshot`. `gpus`
    are the kinds of GPU that a sandbox can have, `images` the kinds of image that it shows (`host`
    is the machine's own `/usr`). `doors`: broker and egress proxy are served. `host_kind` is null
    on a vendor's machines; `needs_key`: a secret of the kind `extension` pays for them. `pools`: it
    builds environments before anybody asks for them."""

    isolation: IsolationLevel
    regions: list[str]
    gpu: bool
    gpus: list[str]
    persistence: bool
    pricing: str
    cost_per_hour: HostCostView | None
    latency_class: str
    abilities: list[str]
    images: list[str]
    closes_network: bool
    doors: bool
    limits: LimitsView
    host_kind: HostKind | None
    needs_key: bool
    snapshots: SnapshotPromiseView | None
    pools: bool


class ExtensionView(Answer):
    """A backend; `reason` tells why it is not available, and `trouble` what is wrong with one that
    is."""

    name: str
    available: bool
    reason: str | None
    trouble: str | None
    capabilities: CapabilitiesView | None


class ExtensionList(Answer):
    """Every backend, by name."""

    extensions: list[ExtensionView]


class FindingView(Answer):
    """The result of one check of the server's machine: `warn` is a limit that sandboxes lack,
    `fail` means that none is safe. `fix` says what to do, empty when nothing is needed."""

    name: str
    level: Literal["ok", "warn", "fail"]
    text: str
    fix: str


class FindingList(Answer):
    """All findings, most important first, and when they were made."""

    findings: list[FindingView]
    at: str


class StrayView(Answer):
    """A machine of a vendor whose sandbox is gone, and when the vendor ends it by itself."""

    extension: str
    machine: str
    sandbox_id: str
    ends_at: str


class StrayList(Answer):
    """At most 1,000 of `count` strays; `problems` says which vendors could not be asked."""

    strays: list[StrayView]
    count: int
    problems: list[str]


class ReapedView(Answer):
    """The number of strays that were ended; `problems` has a sentence for each failure."""

    ended: int
    problems: list[str]


class Extensions(Area):
    """The backends, and what their vendors rent to us."""

    tag = "extensions"
    needs = "system.manage"

    @operation(
        "GET /v1/extensions",
        name="list_extensions",
        needs="sandbox.read",
        max_items=MAX_EXTENSIONS,
    )
    def list(self) -> ExtensionList:
        """Return the backends of this server."""

    @operation(
        "GET /v1/extensions/findings",
        name="list_findings",
        problems=(503,),
        max_items=MAX_FINDINGS,
    )
    def findings(self) -> FindingList:
        """Return what `atoll doctor` finds on the server's machine, at most half a minute old."""

    @operation(
        "GET /v1/extensions/strays", name="list_strays", problems=(503,), max_items=MAX_STRAYS
    )
    def strays(self) -> StrayList:
        """Return the machines that are rented for sandboxes which are gone."""

    @operation("POST /v1/extensions/strays/end", name="end_strays", problems=(503,))
    def end_strays(self) -> ReapedView:
        """End the machines that are rented for sandboxes which are gone."""
