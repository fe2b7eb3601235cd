"""Drives of people: connections over a real store, and transfers over the runtime's file API."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiohttp import web

from atoll.adapters.runtimes.http_clients import HttpRuntimeClients
from atoll.domain.audit import is_audited
from atoll.domain.drive.drive import DriveQuery
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Forbidden,
    Invalid,
    LimitReached,
    NotFound,
    Unauthenticated,
    Unavailable,
)
from atoll.domain.ids import PrincipalId
from atoll.domain.people.principal import LOCAL_PERSON, TokenAccess
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.secrets.secret import Use
from atoll.domain.wall.isolation import Isolation
from atoll.ports import RuntimeClient
from atoll.ports.extension import Reachability
from atoll.runtime.api.files import routes
from atoll.runtime.api.parts import Parts, promise_parts
from atoll.runtime.api.problems import problems
from atoll.runtime.files.files import Files
from atoll.runtime.policy.redactions import Redactions
from atoll.runtime.spawners.local import local
from atoll.services.drive.connections import (
    CONNECTION_LIFE,
    SECRET_NAME,
    ConsentReply,
    DriveConnections,
)
from atoll.services.drive.transfers import DriveExport, DriveImport, DriveTransfers
from atoll.services.secrets import SetSecret
from atoll.services.terminals.runtime_calls import RuntimeCalls
from atoll.testing import FakeDrive
from atoll.testing.fakes.drive import CODE, REFRESH
from atoll.wire.words.events import ActorKind
from atoll.wire.words.secrets import Purpose
from atoll.wire.words.walls import IsolationLevel
from tests.services.scene import Scene, scene

SESSION = "a-session"
BACK = "http://127.0.0.1:8765/auth/drive/callback"
OTHER = replace(LOCAL_PERSON, id=PrincipalId("other"))
AGENT = replace(LOCAL_PERSON, kind=ActorKind.AGENT)
DOCUMENT = "application/vnd.google-apps.document"


@dataclass
class Drives:
    """A drive in memory over a real store, and a workspace behind the runtime's file routes."""

    scene: Scene
    drive: FakeDrive
    connections: DriveConnections
    transfers: DriveTransfers
    sandbox: Sandbox
    workspace: Path

    async def connect(self) -> None:
        """Connect as a browser does."""
        _, cookie = self.connections.begin(LOCAL_PERSON, SESSION, BACK)
        await self.finish(cookie)

    async def finish(self, cookie: str, **more: Any) -> None:
        """Come back with what the drive sent."""
        reply = ConsentReply(more.get("state", self.drive.begun[-1].state), more.get("code", CODE))
        caller, session = more.get("caller", LOCAL_PERSON), more.get("session", SESSION)
        await self.connections.finish(caller, session, cookie=cookie, reply=reply)

    async def events(self, prefix: str = "drive.") -> list[dict[str, Any]]:
        """The payloads of what was noted, with their kinds."""
        found = await self.scene.events.list(LOCAL_PERSON, limit=1000)
        return [
            {"kind": one.event_type, **one.payload}
            for one in found
            if one.event_type.startswith(prefix)
        ]

    def left(self) -> list[str]:
        """The names in the workspace."""
        return sorted(one.name for one in self.workspace.iterdir())


class OneSandbox:
    """The `Sandboxes` of one sandbox, whose owner and anybody else may see it."""

    def __init__(self, sandbox: Sandbox, client: RuntimeClient) -> None:
        self._here = sandbox, client

    async def get(self, _caller: object, _ref: str) -> Sandbox:
        return self._here[0]

    async def runtime(self, _caller: object, _ref: str, *, activity: bool = False) -> Any:
        return self._here

    @asynccontextmanager
    async def reading(self, _caller: object, _ref: str) -> AsyncIterator[Any]:
        yield self._here


@asynccontextmanager
async def file_api(root: Path) -> AsyncIterator[RuntimeClient]:
    """The runtime's file routes over a real init."""
    async with local(root) as spawner:
        app = web.Application(middlewares=[problems])
        used = SimpleNamespace(files=Files(spawner), redactions=Redactions())
        promise_parts(app).set_result(cast(Parts, used))
        app.add_routes(routes())
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        socket = root.with_suffix(".sock")
        await web.UnixSite(runner, str(socket)).start()
        clients = HttpRuntimeClients()
        isolation = Isolation(IsolationLevel.NONE, "none")
        yield clients.client(Reachability(f"unix:{socket}", isolation))
        await clients.close()
        await runner.cleanup()
        socket.unlink(missing_ok=True)


@pytest.fixture
async def drives() -> AsyncIterator[Drives]:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        async with scene() as s, file_api(Path(folder)) as client:
            sandbox, drive = await s.ready(), FakeDrive()
            here = cast(Any, OneSandbox(sandbox, client))
            connections = DriveConnections(s.ground, drive, vault=s.vault)
            transfers = DriveTransfers(
                here,
                RuntimeCalls(here, s.within.checks, s.ground.telemetry.tracer),
                connections,
                runtimes=here,
                events=s.events,
                max_bytes=200_000,
            )
            yield Drives(s, drive, connections, transfers, sandbox, Path(folder))


async def test_connection_keeps_a_secret_that_nobody_sees_sets_or_sends_inside(
    drives: Drives,
) -> None:
    before = await drives.connections.status(LOCAL_PERSON)
    assert (before.available, before.account) == (True, None)
    url, cookie = drives.connections.begin(LOCAL_PERSON, SESSION, BACK)
    assert drives.drive.begun[0].verifier not in url + cookie
    await drives.finish(cookie)
    assert (await drives.connections.status(LOCAL_PERSON)).account == "ada@example.org"
    (secret,) = await drives.scene.secrets.list(LOCAL_PERSON)
    assert (secret.name, secret.last4, secret.use.purpose) == (SECRET_NAME, "", Purpose.DRIVE)
    own = SetSecret(SECRET_NAME, "sk-canary-A1b2C3d4E5", Use(Purpose.CUSTOM))
    for act in (
        drives.scene.secrets.rotate(LOCAL_PERSON, SECRET_NAME, "sk-canary-A1b2C3d4E5"),
        drives.scene.secrets.remove(LOCAL_PERSON, SECRET_NAME),
        drives.scene.secrets.set(LOCAL_PERSON, own),
    ):
        with pytest.raises(Conflict):
            await act
    with pytest.raises(Invalid):
        await drives.scene.secrets.set(LOCAL_PERSON, replace(own, use=Use(Purpose.DRIVE)))
    told = repr([call.body for call in drives.scene.runtime.calls])
    assert REFRESH not in told + repr(await drives.events(""))
    await drives.scene.secrets.rotate_master(LOCAL_PERSON)
    assert (await drives.connections.access(LOCAL_PERSON)).token


async def test_connection_is_finished_by_the_session_that_began_it_alone(drives: Drives) -> None:
    _, cookie = drives.connections.begin(LOCAL_PERSON, SESSION, BACK)
    for wrong in (
        {"session": "another"},
        {"session": None},
        {"caller": OTHER},
        {"state": "another"},
        {"state": ""},
    ):
        with pytest.raises(Unauthenticated) as refused:
            await drives.finish(cookie, **wrong)
        assert refused.value.code == "drive_not_begun"
    for forged in ("", "x", "ä", cookie[:-4], cookie[::-1], "A" * 5000):
        with pytest.raises(Unauthenticated):
            await drives.finish(forged)
    with pytest.raises(Forbidden):
        await drives.finish(cookie, code="")
    drives.scene.clock.turn(CONNECTION_LIFE.total_seconds())
    with pytest.raises(Unauthenticated):
        await drives.finish(cookie)
    assert (await drives.connections.status(LOCAL_PERSON)).account is None
    assert CODE in drives.drive.codes


async def test_drive_is_of_a_person_and_of_nobody_else(drives: Drives) -> None:
    await drives.connect()
    token = TokenAccess("x", drives.scene.clock.now())
    with pytest.raises(Forbidden):
        drives.connections.begin(replace(LOCAL_PERSON, token=token), None, BACK)
    with pytest.raises(NotFound) as refused:
        await drives.transfers.page(OTHER, DriveQuery())
    assert refused.value.code == "not_connected"
    for act in (
        drives.connections.status(AGENT),
        drives.connections.disconnect(AGENT),
        drives.transfers.page(AGENT, DriveQuery()),
        drives.transfers.import_file(AGENT, "box", DriveImport("notes")),
        drives.transfers.export_file(AGENT, "box", DriveExport("a")),
    ):
        with pytest.raises(Forbidden):
            await act


async def test_disconnection_ends_the_consent_and_drops_the_token(drives: Drives) -> None:
    await drives.connect()
    assert await drives.connections.disconnect(LOCAL_PERSON)
    assert drives.drive.revoked == [REFRESH]
    assert await drives.scene.secrets.list(LOCAL_PERSON) == []
    with pytest.raises(NotFound):
        await drives.connections.disconnect(LOCAL_PERSON)
    drives.drive.revoked.clear()
    await drives.connect()
    drives.drive.failure = Unavailable("away")
    assert not await drives.connections.disconnect(LOCAL_PERSON)
    drives.drive.failure = None
    await drives.connect()
    drives.drive.revoked.append(REFRESH)
    drives.connections = DriveConnections(
        drives.scene.ground, drives.drive, vault=drives.scene.vault
    )
    with pytest.raises(Forbidden):
        await drives.connections.access(LOCAL_PERSON)
    assert (await drives.connections.status(LOCAL_PERSON)).account is None
    kinds = [(one["kind"], one.get("how")) for one in await drives.events()]
    assert kinds == [
        ("drive.connected", None), ("drive.disconnected", "revoked"),
        ("drive.connected", None), ("drive.disconnected", "dropped"),
        ("drive.connected", None), ("drive.disconnected", "ended"),
    ]  # fmt: skip
    assert all(is_audited(kind) for kind, _ in kinds)


async def test_without_a_client_there_is_no_drive(drives: Drives) -> None:
    none = DriveConnections(drives.scene.ground, None, vault=drives.scene.vault)
    assert not (await none.status(LOCAL_PERSON)).available
    with pytest.raises(NotFound) as refused:
        none.begin(LOCAL_PERSON, SESSION, BACK)
    assert refused.value.code == "no_drive"


async def test_import_appears_whole_and_replaces_only_when_told(drives: Drives) -> None:
    await drives.connect()
    drives.drive.keep("notes", "../notes.txt", b"one")
    drives.drive.keep("paper", "Paper", b"# Paper", media_type=DOCUMENT)
    bring = drives.transfers.import_file
    file, entry = await bring(LOCAL_PERSON, "box", DriveImport("notes"))
    assert (file.id, entry.path) == ("notes", "_notes.txt")
    _, entry = await bring(LOCAL_PERSON, "box", DriveImport("paper", "in/docs/", "md"))
    assert entry.path == "in/docs/Paper.md"
    assert (drives.workspace / "in/docs/Paper.md").read_bytes() == b"# Paper"
    drives.drive.keep("notes", "notes.txt", b"two")
    with pytest.raises(Conflict) as refused:
        await bring(LOCAL_PERSON, "box", DriveImport("notes", "_notes.txt"))
    assert refused.value.code == "exists"
    assert (drives.workspace / "_notes.txt").read_bytes() == b"one"
    await bring(LOCAL_PERSON, "box", DriveImport("notes", "_notes.txt", replace=True))
    assert (drives.workspace / "_notes.txt").read_bytes() == b"two"
    for path in ("../outside", "/etc/passwd", "a\0b"):
        with pytest.raises(AtollError):
            await bring(LOCAL_PERSON, "box", DriveImport("notes", path))
    assert drives.left() == ["_notes.txt", "in"]
    noted = await drives.events("drive.imported")
    assert [(one["file"], one["path"], one["bytes"]) for one in noted] == [
        ("notes", "_notes.txt", 3), ("paper", "in/docs/Paper.md", 7), ("notes", "_notes.txt", 3),
    ]  # fmt: skip


@pytest.mark.parametrize("replaced", [False, True])
async def test_import_that_fails_leaves_nothing(drives: Drives, *, replaced: bool) -> None:
    await drives.connect()
    drives.drive.keep("big", "big.bin", b"x" * 200_001)
    drives.drive.keep("doc", "doc", b"x" * 200_001, media_type=DOCUMENT)  # its size is not known
    (drives.workspace / "here").write_text("before")
    for file_id in ("big", "doc"):
        with pytest.raises(LimitReached) as refused:
            wanted = DriveImport(file_id, "here" if replaced else "new", replace=replaced)
            await drives.transfers.import_file(LOCAL_PERSON, "box", wanted)
        assert refused.value.code == "too_large"
    with pytest.raises(Invalid):
        await drives.transfers.import_file(LOCAL_PERSON, "box", DriveImport("a/../b"))
    with pytest.raises(NotFound):
        await drives.transfers.import_file(LOCAL_PERSON, "box", DriveImport("gone"))
    async with asyncio.timeout(20):
        while drives.left() != ["here"]:  # noqa: ASYNC110 - the runtime drops what broke off
            await asyncio.sleep(0.01)
    assert (drives.workspace / "here").read_text() == "before"
    assert await drives.events("drive.imported") == []


async def test_link_out_of_the_workspace_is_not_followed(drives: Drives) -> None:
    await drives.connect()
    drives.drive.keep("notes", "notes.txt", b"one")
    (drives.workspace / "out").symlink_to("/tmp")
    (drives.workspace / "shadow").symlink_to("/etc/passwd")
    with pytest.raises(AtollError):
        await drives.transfers.import_file(LOCAL_PERSON, "box", DriveImport("notes", "out/"))
    with pytest.raises(AtollError):
        await drives.transfers.export_file(LOCAL_PERSON, "box", DriveExport("shadow"))
    assert not Path("/tmp/notes.txt").exists() and list(drives.drive.kept) == ["notes"]


async def test_export_is_a_new_file_or_a_new_version(drives: Drives) -> None:
    await drives.connect()
    (drives.workspace / "report.md").write_bytes(b"# One")
    send = drives.transfers.export_file
    made = await send(LOCAL_PERSON, "box", DriveExport("report.md", "docs"))
    assert (made.name, drives.drive.kept[made.id].folder) == ("report.md", "docs")
    (drives.workspace / "report.md").write_bytes(b"# Two, longer")
    again = await send(LOCAL_PERSON, "box", DriveExport("report.md", name="r.md", file=made.id))
    assert (again.id, again.name) == (made.id, "r.md")
    assert drives.drive.kept[made.id].content == b"# Two, longer"
    (noted, _) = await drives.events("drive.exported")
    assert (noted["file"], noted["path"], noted["bytes"]) == (made.id, "report.md", 5)
    for wrong in (
        DriveExport("report.md", folder="a b"),
        DriveExport("report.md", folder="docs", file=made.id),
        DriveExport("report.md", file="../x"),
        DriveExport("report.md", name="a\nb"),
        DriveExport("gone.md"),
    ):
        with pytest.raises((Invalid, NotFound)):
            await send(LOCAL_PERSON, "box", wrong)
    (drives.workspace / "big").write_bytes(b"x" * 200_001)
    with pytest.raises(LimitReached):
        await send(LOCAL_PERSON, "box", DriveExport("big"))
    with pytest.raises(Forbidden, match="only the owner"):
        await _as_other(drives).export_file(OTHER, "box", DriveExport("big", with_secrets=True))


def _as_other(drives: Drives) -> DriveTransfers:
    """The same transfers, with a connection of anybody."""
    granted = SimpleNamespace(drive=drives.drive)

    async def access(_caller: object) -> object:
        return await drives.drive.access("another")

    granted.access, granted.forget = access, lambda _access: None
    calls = drives.transfers._calls
    return DriveTransfers(
        drives.transfers._sandboxes,
        calls,
        cast(Any, granted),
        runtimes=drives.transfers._runtimes,
        events=drives.scene.events,
    )
