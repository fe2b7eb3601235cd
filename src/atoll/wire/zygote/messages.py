"""Messages between the control plane and the zygote, typed.

One message is one SEQPACKET datagram of JSON on `run/zygote.sock`. This module only translates; it
opens no socket and checks no policy. A request carries a number that the sender chose, the answer
repeats it; `Ended` is sent without a request, with number 0.
"""

from typing import Annotated, Any, Literal

import msgspec

from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.words.walls import WORKSPACE
from atoll.wire.zygote.names import (
    AbsolutePath,
    BoxId,
    GrantName,
    HostName,
    Positive,
    Refspec,
    RequestId,
    SnapshotName,
    Text,
)
from atoll.wire.zygote.snapshots import SnapshotAnswer, SnapshotRequest


class Malformed(ValueError):
    """A message outside this protocol, or too long; the text names the place."""


MAX_MESSAGE_BYTES = 64 * 1024
"""The size of one datagram, both ways; longer ones are refused before they are parsed."""

MAX_GRANTS = 512
"""The grants that one request removes."""

LIST_PAGE = 50
"""The number of boxes in one `Listed`; request again with `after` set to the last id."""


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The bounds of one sandbox; None takes the host's default. `files` is what each process may
    have open, `netlink` how many route sockets are alive at once."""

    memory_bytes: Positive | None = None
    pids: Annotated[int, msgspec.Meta(ge=8, le=1_000_000)] | None = None
    cpu_millis: Annotated[int, msgspec.Meta(ge=10, le=1_000_000)] | None = None
    ptys: Annotated[int, msgspec.Meta(ge=1, le=4096)] | None = None
    workspace_bytes: Annotated[int, msgspec.Meta(ge=16 * 2**20, le=2**44)] | None = None
    files: Annotated[int, msgspec.Meta(ge=256, le=1_048_576)] | None = None
    netlink: Annotated[int, msgspec.Meta(ge=0, le=1024)] | None = None


class View(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A read-only view of a host directory inside."""

    source: AbsolutePath
    target: AbsolutePath


class Machine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An agent's machine mode (`domain.agents.agent.Machine`)."""

    protocol: Text
    argv: tuple[Text, ...]
    allow_argv: tuple[Text, ...] = ()
    ask_argv: tuple[Text, ...] = ()
    resume_argv: tuple[Text, ...] = ()
    conversation_argv: tuple[Text, ...] | None = None
    fork_argv: tuple[Text, ...] = ()
    fresh_argv: tuple[Text, ...] = ()


class HostMount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A directory of the host's inside: see `domain.files.host_mount`."""

    source: AbsolutePath
    target: AbsolutePath
    writable: bool = False
    grant: Annotated[str, msgspec.Meta(max_length=64)] = ""
    private: bool = False


class WatchFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file that makes an agent report its turns (`domain.agents.agent.WatchFile`)."""

    suffix: Annotated[str, msgspec.Meta(pattern=r"^\.[a-z]{1,16}\Z")]
    content: Text
    variable: Text = ""


class AgentTools(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ways by which an agent learns of Atoll's tools (`domain.agents.agent.AgentTools`)."""

    argv: tuple[Text, ...] = ()
    files: tuple[WatchFile, ...] = ()
    machine_url: Text = ""
    machine_argv: tuple[Text, ...] = ()


class Agent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An agent the runtime may start by name (`domain.agents.agent.Agent`)."""

    name: Text
    argv: tuple[Text, ...]
    env: tuple[tuple[Text, Text], ...] = ()
    resume_argv: tuple[Text, ...] = ()
    conversation_argv: tuple[Text, ...] = ()
    fork_argv: tuple[Text, ...] = ()
    watch_argv: tuple[Text, ...] = ()
    watch_files: tuple[WatchFile, ...] = ()
    transcript: Text = ""
    held: Text = ""
    server: Text = ""
    menus: bool = False
    ask_words: tuple[tuple[Text, Text], ...] = ()
    prompt_argv: tuple[Text, ...] | None = None
    machine: Machine | None = None
    mcp: AgentTools | None = None
    mcp_stdio: AgentTools | None = None


class Start(msgspec.Struct, frozen=True, tag_field="verb", tag="start", forbid_unknown_fields=True):
    """A request to start a sandbox, or to attach to it again when this generation already lives.

    \n - `fresh` drops a kept workspace first.
    - `seed` is the snapshot that a workspace begins as where none is kept.
    - `writable` false mounts the workspace read-only.
    - `tree` is a directory below the home's `images/` that becomes the root, None the host's own;
      `overlay` adds a writable layer above it.
    - `bare` shows an empty directory in place of the workspace.
    - `pooled` builds it up to the wall; a start without it of the same generation makes the sandbox
      of it.
    - `debug` takes the filter that lets debuggers work.
    - `sudo` are whole commands that its runtime may have run as seemingly root.

    With `maintenance_seconds` it is started only to read what it keeps. Its runtime gets no key and
    ends by itself after so long without a request. A start of the other kind ends it first.
    """

    sandbox_id: BoxId
    generation: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    hostname: HostName
    limits: Limits = Limits()
    views: Annotated[tuple[View, ...], msgspec.Meta(max_length=64)] = ()
    env: Annotated[tuple[tuple[Text, Text], ...], msgspec.Meta(max_length=512)] = ()
    shell: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1, max_length=64)] = ("/bin/bash",)
    cwd: AbsolutePath = WORKSPACE
    broker: Annotated[tuple[tuple[Text, Text], ...], msgspec.Meta(max_length=32)] = ()
    agents: Annotated[tuple[Agent, ...], msgspec.Meta(max_length=64)] = ()
    writable: bool = True
    fresh: bool = False
    seed: SnapshotName | None = None
    tree: AbsolutePath | None = None
    overlay: bool = False
    bare: bool = False
    debug: bool = False
    mounts: Annotated[tuple[HostMount, ...], msgspec.Meta(max_length=16)] = ()
    sudo: Annotated[tuple[tuple[Text, ...], ...], msgspec.Meta(max_length=256)] = ()
    maintenance_seconds: Annotated[int, msgspec.Meta(ge=1, le=3600)] | None = None
    pooled: bool = False


class Serve(msgspec.Struct, frozen=True, tag_field="verb", tag="serve", forbid_unknown_fields=True):
    """A request to prepare for a sandbox whose wall another program builds (a container engine).

    Answered by `Awaited` while its init is waited for, for `seconds`; by `Started` when this
    generation already lives. Programs that init then runs are served as those of any other sandbox.
    The builder mounts `sandbox.views`; the zygote only checks them.
    """

    sandbox: Start
    seconds: Annotated[int, msgspec.Meta(ge=1, le=600)] = 60


class Await(msgspec.Struct, frozen=True, tag_field="verb", tag="await", forbid_unknown_fields=True):
    """A request to wait for the init of a sandbox after `Serve`. Answered by `Started` once it
    connected, or by the reason why not."""

    sandbox_id: BoxId
    generation: Annotated[int, msgspec.Meta(ge=1, le=2**31)]


class Link(msgspec.Struct, frozen=True, tag_field="verb", tag="link", forbid_unknown_fields=True):
    """A request for the runtime of a sandbox on another machine. Answered by `Started` at once.

    Streams to the far end of its link are then expected at `box.link`: they prove themselves with
    `key` (hex); an empty one is that of the last start. After `grace_seconds` without a stream the
    runtime ends. `backend` names the extension whose machine that is, `init` is init's argv there,
    and `data` is kept for the extension.
    """

    sandbox: Start
    key: Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{64})?\Z")]
    grace_seconds: Annotated[int, msgspec.Meta(ge=1, le=86_400)]
    backend: Annotated[str, msgspec.Meta(pattern=r"^ext\.[a-z0-9-]{1,40}\Z")]
    init: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1, max_length=8)]
    data: Annotated[tuple[tuple[Text, Text], ...], msgspec.Meta(max_length=16)] = ()

    def __repr__(self) -> str:
        return f"Link({self.sandbox!r}, backend={self.backend!r})"


class Stop(msgspec.Struct, frozen=True, tag_field="verb", tag="stop", forbid_unknown_fields=True):
    """A request to end every process of a sandbox; workspace and agent state stay."""

    sandbox_id: BoxId


class Destroy(
    msgspec.Struct, frozen=True, tag_field="verb", tag="destroy", forbid_unknown_fields=True
):
    """A request to end every process of a sandbox and remove everything of it."""

    sandbox_id: BoxId


class RemoveGrants(
    msgspec.Struct, frozen=True, tag_field="verb", tag="remove_grants", forbid_unknown_fields=True
):
    """A request to remove grants of mounts, which no sandbox has any more."""

    names: Annotated[tuple[GrantName, ...], msgspec.Meta(max_length=MAX_GRANTS)]


class ListBoxes(
    msgspec.Struct, frozen=True, tag_field="verb", tag="list", forbid_unknown_fields=True
):
    """A request for sandboxes by id, those after `after`."""

    after: Annotated[str, msgspec.Meta(max_length=64)] = ""


class Report(
    msgspec.Struct, frozen=True, tag_field="verb", tag="report", forbid_unknown_fields=True
):
    """A request for the walls this host can build."""


class Import(
    msgspec.Struct, frozen=True, tag_field="verb", tag="import", forbid_unknown_fields=True
):
    """A request to import from a git bundle into the fresh bare repository `repo_dir`.

    `refspecs` are fetched; with `pack_at` the pack at that offset of the bundle is checked and
    indexed instead. `repo_dir` and `bundle` lie below `run/import/<id>/`, `alternates` below
    `repos/`. Runs without network as a foreign uid; `seconds` and `max_bytes` bound it.
    """

    repo_dir: AbsolutePath
    bundle: AbsolutePath
    refspecs: Annotated[tuple[Refspec, ...], msgspec.Meta(max_length=256)] = ()
    pack_at: Annotated[int, msgspec.Meta(ge=0)] | None = None
    alternates: Annotated[tuple[AbsolutePath, ...], msgspec.Meta(max_length=16)] = ()
    seconds: Annotated[int, msgspec.Meta(ge=1, le=3600)] = 120
    max_bytes: Positive = 2**31


_OfHost = RemoveGrants | ListBoxes | Report | Import
Request = Start | Serve | Await | Link | Stop | Destroy | _OfHost | SnapshotRequest


Wall = Literal["bubblewrap", "container", "link"]
"""The builder of a sandbox's wall: the zygote by bubblewrap, another program by `Serve`, or another
machine by `Link`."""


class Box(msgspec.Struct, frozen=True):
    """A sandbox as the zygote knows it.

    `socket` is the runtime's, `host_uid` the owner of its files on the host. `live` false: only its
    state is kept. `maintenance`: it was started only to read that. `pooled`: it waits for a
    request. `link` is the socket for streams to another machine, `backend` the extension whose
    machine that is, `data` what it had kept.
    """

    sandbox_id: str
    generation: int
    live: bool
    socket: str
    host_uid: int
    runtime_pid: int = 0
    init: str = ""
    degraded: tuple[str, ...] = ()
    reason: str = ""
    wall: Wall = "bubblewrap"
    maintenance: bool = False
    link: str = ""
    backend: str = ""
    data: tuple[tuple[str, str], ...] = ()
    pooled: bool = False


class Awaited(msgspec.Struct, frozen=True, tag_field="answer", tag="awaited"):
    """The permission for its init to connect: as `box.host_uid`, once, at the SEQPACKET socket
    `rendezvous`.

    `init_file` is to be shown inside as the last word of `init`; `workspace` and `state` (a
    directory per agent) belong to that uid; `etc` holds files of /etc made for it, and `own_run` is
    to be shown at /run/atoll. `folders` are to be bound in place of the sources of
    `sandbox.mounts`, one for each in their order.
    """

    box: Box
    rendezvous: str
    init_file: str
    init: tuple[str, ...]
    workspace: str
    state: str
    etc: str
    own_run: str
    folders: tuple[str, ...] = ()


class Started(msgspec.Struct, frozen=True, tag_field="answer", tag="started"):
    """A living sandbox; `attached` true when it lived before."""

    box: Box
    attached: bool = False


class Cleaned(msgspec.Struct, frozen=True, tag_field="answer", tag="cleaned"):
    """The result of a stop, a destroy or a removal of grants: what was removed, and what was not
    (each a sentence)."""

    removed: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()


class Listed(msgspec.Struct, frozen=True, tag_field="answer", tag="listed"):
    """A page of boxes by id; `more` when there are others after the last."""

    boxes: tuple[Box, ...]
    more: bool = False


class Disk(msgspec.Struct, frozen=True):
    """The bytes of the home's disk.

    `free`, the mark `low` below which no sandbox starts, and what images are `promised` beyond what
    they take.
    """

    free: int
    low: int
    promised: int


class Runtimes(msgspec.Struct, frozen=True):
    """The runtimes whose memory is counted, pooled ones too: how many, the bytes of all and of the
    largest, and the `most` that one may take."""

    count: int
    bytes: int
    largest: int
    most: int


class Reported(msgspec.Struct, frozen=True, tag_field="answer", tag="reported"):
    """The capabilities of this host.

    `degraded` names each limit a sandbox will lack. `unshared` tells why idle runtimes give no
    memory back (empty: they do). `disk_weight`: sandboxes' groups have a weight for the disk.
    `keyed`: the model providers that the keys file of the home has a key for. `build` names the
    build of Atoll that the zygote runs, empty for one from before it was named. `overlays`: a root
    can have a writable layer. `snapshots`: disks of sandboxes can be kept; `clones`: also without
    copying them.
    """

    root: bool
    pid: int
    bwrap: str
    init: str
    degraded: tuple[str, ...] = ()
    unshared: str = "the zygote is of an older version"
    disk: Disk | None = None
    runtimes: Runtimes | None = None
    disk_weight: bool = False
    keyed: tuple[str, ...] = ()
    build: str = ""
    overlays: bool = True
    snapshots: bool = False
    folder_snapshots: bool = False
    clones: bool = False


class Imported(msgspec.Struct, frozen=True, tag_field="answer", tag="imported"):
    """The end of an import: the bundle's refs, or its indexed pack, are in the repository."""


Kind = Literal[
    "invalid", "forbidden", "not_found", "conflict", "limit_reached", "unavailable", "failed"
]


class Refused(msgspec.Struct, frozen=True, tag_field="answer", tag="refused"):
    """The failure of a request: `kind` is the code of an error class of `domain.errors`."""

    kind: Kind
    message: str


class Ended(msgspec.Struct, frozen=True, tag_field="answer", tag="ended"):
    """The end of a sandbox by itself, sent without a request. Of one that waited in a pool the
    `generation` is 0."""

    sandbox_id: str
    generation: int
    reason: str
    wall: Wall = "bubblewrap"


Answer = (
    Started | Awaited | Cleaned | Listed | Reported | Imported | SnapshotAnswer | Refused | Ended
)


class NumberedRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request with its number. `request_id` and `traceparent` name the request that a client of
    the control plane made, where there is one: for the zygote's own log alone."""

    number: Annotated[int, msgspec.Meta(ge=1, le=2**53)]
    request: Request
    request_id: RequestId = ""
    traceparent: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f-]{0,55}\Z")] = ""


class NumberedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer with the number of its request; 0 for one without a request."""

    number: int
    answer: Answer


class _Numbered(msgspec.Struct):
    """The number alone: just enough of a bad request to answer it."""

    number: int = 0


_ASKED = msgspec.json.Decoder(NumberedRequest)
_ANSWERED = msgspec.json.Decoder(NumberedAnswer)


def _encode_message(message: Any) -> bytes:
    wire = msgspec.json.encode(message)
    if len(wire) > MAX_MESSAGE_BYTES:
        raise Malformed(
            f"a message to the zygote is {len(wire)} bytes, {MAX_MESSAGE_BYTES} is the most: "
            "shorten the environment or the list of mounts"
        )
    return wire


def encode_request(
    number: int, request: Request, *, request_id: str = "", traceparent: str = ""
) -> bytes:
    """Encode a message as one datagram. Raises `Malformed` past `MAX_MESSAGE_BYTES`."""
    return _encode_message(NumberedRequest(number, request, request_id, traceparent))


def decode_request(wire: bytes) -> NumberedRequest:
    """Read one datagram. Raises `Malformed` saying which field is wrong."""
    if len(wire) > MAX_MESSAGE_BYTES:
        raise Malformed(f"a request of more than {MAX_MESSAGE_BYTES} bytes was refused unread")
    try:
        return _ASKED.decode(wire)
    except UNREADABLE as err:
        raise Malformed(f"the zygote cannot read this request: {err}") from err


def number_of(wire: bytes) -> int:
    """Return the number of a request that `decode_request` refused, 0 when even that is
    unreadable."""
    try:
        return msgspec.json.decode(wire, type=_Numbered).number
    except UNREADABLE:
        return 0


def encode_answer(number: int, answer: Answer) -> bytes:
    """Encode a message as one datagram. Raises `Malformed` past `MAX_MESSAGE_BYTES`."""
    return _encode_message(NumberedAnswer(number, answer))


def decode_answer(wire: bytes) -> NumberedAnswer:
    """Read one datagram. Raises `Malformed` when it is not an answer of this version."""
    try:
        return _ANSWERED.decode(wire)
    except UNREADABLE as err:
        raise Malformed(f"the zygote's answer cannot be read: {err}") from err
