"""Previews: an app inside a sandbox, built by the project's set-up and shown at a name of its own.

The set-up runs as `Sandboxes.run_setup` runs it. `PreviewWatch` of the leader looks at those that
build, and ends those whose sandbox is destroyed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import structlog

from atoll.domain.errors import AtollError, Conflict, LimitReached, NotFound
from atoll.domain.event import EventDraft, Json, sandbox_stream
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.domain.previews.preview import (
    MAX_PREVIEWS,
    Build,
    BuildRefused,
    Preview,
    PreviewId,
    PreviewRemoved,
    PreviewRequest,
    SetupSeen,
    Stimulus,
    step,
)
from atoll.domain.sandboxes.project import SandboxProject
from atoll.domain.sandboxes.sandbox import Sandbox, check_may_manage
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.previews.own_credentials import OwnCredentials
from atoll.services.previews.visits import Visits
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.wire.contract.call import PathId
from atoll.wire.contract.recordings import read_text
from atoll.wire.words.previews import PreviewState
from atoll.wire.words.sandboxes import SetupState, State

LOOK_SECONDS: Final = 2.0
LOOKS_PER_SWEEP: Final = 15
STALE: Final = timedelta(seconds=60)
"""The time after which a build that nobody started is looked at: who began it is gone."""

_RUNS_ALREADY: Final = frozenset({"no_setup", "setup_runs"})
_DESTROYED: Final = frozenset({State.DESTROYING, State.DESTROYED})
_log = structlog.get_logger(__name__)


class Previews:
    """Use cases on previews. Who may see the sandbox sees them; who may manage it makes them.

    Every method raises `NotFound` for a sandbox or a preview that the caller may not see.
    """

    def __init__(self, ground: Ground, sandboxes: Sandboxes, access: RuntimeAccess) -> None:
        self._ground = ground
        self._sandboxes = sandboxes
        self._access = access

    async def create(self, caller: Principal, ref: str, request: PreviewRequest) -> Preview:
        """Return a new preview, whose build has begun; one that was torn down comes back under its
        id. Raises `Conflict` for one there is, or a name in use, and when the sandbox does not run;
        `LimitReached` beyond 64 of a sandbox."""
        sandbox, _ = await self._access.runtime(caller, ref)
        check_may_manage(caller, sandbox)
        now = self._ground.clock.now()
        async with self._ground.store.begin() as rows:
            known = await rows.previews.of(sandbox.id)
            before = next((preview for preview in known if preview.shows(request)), None)
            if before is not None and before.state is not PreviewState.GONE:
                raise Conflict(
                    f"There is a preview {before.id} of it: rebuild it, or tear it down first.",
                    code="preview_exists",
                )
            if before is None and len(known) >= MAX_PREVIEWS:
                raise LimitReached(
                    f"Sandbox {sandbox.name} has had {MAX_PREVIEWS} previews: use another sandbox."
                )
            preview = before or _new(sandbox, request, self._ground)
            await _check_name(rows, preview)
            changed, kind = step(preview, Build(request.sha), now)
            await _store(rows, self._ground, changed, kind, actor=caller)
        self._announce(changed)
        return await self._build(caller, changed, again=False)

    async def list(self, caller: Principal, ref: str, page: PageQuery) -> RowPage[Preview]:
        """Return a page of the sandbox's previews, newest first."""
        sandbox = await self._sandboxes.get(caller, ref)
        async with self._ground.store.read() as rows:
            return await rows.previews.page(sandbox.id, page)

    async def get(self, caller: Principal, ref: str, preview_id: str) -> Preview:
        """Return a preview."""
        sandbox = await self._sandboxes.get(caller, ref)
        async with self._ground.store.read() as rows:
            return _check_preview(
                sandbox, await rows.previews.get(PreviewId(preview_id)), preview_id
            )

    async def living(self, caller: Principal, ref: str, preview_id: str) -> Preview:
        """Return a preview that is not gone. Raises `Conflict` for one that is."""
        preview = await self.get(caller, ref, preview_id)
        if preview.state is PreviewState.GONE:
            raise Conflict(f"Preview {preview.id} was torn down: create it anew.")
        return preview

    async def rebuild(self, caller: Principal, ref: str, preview_id: str) -> Preview:
        """Run the set-up again; joins one that runs. Raises `Conflict` for a preview that is gone,
        and when the sandbox does not run."""
        sandbox, _ = await self._access.runtime(caller, ref)
        check_may_manage(caller, sandbox)
        async with self._ground.store.begin() as rows:
            preview = _check_preview(
                sandbox, await rows.previews.get(PreviewId(preview_id)), preview_id
            )
            if preview.state is PreviewState.GONE:
                raise Conflict(f"Preview {preview.id} was torn down: create it anew.")
            changed, kind = step(preview, Build(), self._ground.clock.now())
            await _store(rows, self._ground, changed, kind, actor=caller)
        self._announce(changed)
        return await self._build(caller, changed, again=True)

    async def tear_down(self, caller: Principal, ref: str, preview_id: str) -> Preview:
        """Remove a preview: its links and visits end within seconds. What runs inside goes on.
        Idempotent."""
        sandbox = await self._sandboxes.get(caller, ref)
        check_may_manage(caller, sandbox)
        preview = await self.get(caller, sandbox.id, preview_id)
        return await self.happened(preview.id, PreviewRemoved(), caller) or preview

    async def log(self, caller: Principal, ref: str, preview_id: str) -> str:
        """Return the output of the set-up that built it, as far as its terminal still has it; empty
        when there was none. Raises as `Sandboxes.runtime`."""
        preview = await self.get(caller, ref, preview_id)
        _, client = await self._access.runtime(caller, preview.sandbox_id)
        if preview.terminal_id is None:
            return ""
        try:
            return (await client.call(read_text(PathId(preview.terminal_id), since=0))).text
        except NotFound:
            return ""

    async def happened(
        self, preview_id: PreviewId, stimulus: Stimulus, actor: Principal
    ) -> Preview | None:
        """Store what happened to a preview, and return it; None for one that is not stored."""
        async with self._ground.store.begin() as rows:
            preview = await rows.previews.get(preview_id)
            if preview is None:
                return None
            changed, kind = step(preview, stimulus, self._ground.clock.now())
            if changed != preview:
                await _store(rows, self._ground, changed, kind, actor=actor)
        if kind is not None:
            self._announce(changed)
        return changed

    async def _build(self, caller: Principal, preview: Preview, *, again: bool) -> Preview:
        """Run the set-up where it is needed, and return the preview as it then is."""
        try:
            sandbox = await self._set_up(caller, preview, again=again)
        except AtollError as error:
            stimulus: Stimulus = BuildRefused(error.message)
        else:
            stimulus = observe_setup(sandbox.project)
        return await self.happened(preview.id, stimulus, caller) or preview

    async def _set_up(self, caller: Principal, preview: Preview, *, again: bool) -> Sandbox:
        sandbox = await self._sandboxes.get(caller, preview.sandbox_id)
        state = observe_setup(sandbox.project).state
        if state is SetupState.RUNNING or (state is SetupState.DONE and not again):
            return sandbox
        try:
            return await self._sandboxes.run_setup(caller, sandbox.id)
        except Conflict as error:
            if error.code not in _RUNS_ALREADY:
                raise
            return await self._sandboxes.get(caller, sandbox.id)

    def _announce(self, preview: Preview) -> None:
        self._ground.bus.announce((sandbox_stream(preview.sandbox_id),))


class PreviewWatch:
    """The leader's look at previews that build, and at those whose sandbox is destroyed."""

    def __init__(self, ground: Ground, previews: Previews) -> None:
        self._ground = ground
        self._previews = previews

    async def run(self) -> None:
        """Look at intervals, until cancelled."""
        looks = 0
        while True:
            try:
                await self.look(sweep=looks % LOOKS_PER_SWEEP == 0)
            except AtollError as error:
                _log.warning("previews_not_looked_at", reason=error.message)
            looks += 1
            clock = self._ground.clock
            await clock.sleep_until(clock.now() + timedelta(seconds=LOOK_SECONDS))

    async def look(self, *, sweep: bool = True) -> None:
        """Look once; with `sweep` also for previews whose sandbox is destroyed."""
        async with self._ground.store.read() as rows:
            building = [
                (preview, await rows.sandboxes.get(preview.sandbox_id))
                for preview in await rows.previews.building()
            ]
            orphaned = await rows.previews.orphaned() if sweep else ()
        for orphan in orphaned:
            await self._previews.happened(orphan.id, PreviewRemoved(), SYSTEM)
        for preview, sandbox in building:
            if sandbox is None or sandbox.state in _DESTROYED:
                continue
            stimulus = observe_setup(sandbox.project)
            stale = self._ground.clock.now() - preview.updated_at > STALE
            # Before its terminal is stored, what is found is the set-up of an earlier build.
            if stale or (
                stimulus.terminal_id is not None and stimulus.terminal_id == preview.terminal_id
            ):
                await self._previews.happened(preview.id, stimulus, SYSTEM)


@dataclass(frozen=True, slots=True)
class PreviewServices:
    """The use cases of previews, as surfaces are given them."""

    previews: Previews
    visits: Visits
    watch: PreviewWatch
    own: OwnCredentials


async def remove_previews(
    ground: Ground, rows: Transaction, sandbox: Sandbox, *, actor: Principal
) -> None:
    """Remove the previews of a sandbox that goes, in the caller's transaction."""
    for preview in await rows.previews.of(sandbox.id):
        changed, kind = step(preview, PreviewRemoved(), ground.clock.now())
        if changed != preview:
            await _store(rows, ground, changed, kind, actor=actor)


async def _store(
    rows: Transaction, ground: Ground, preview: Preview, kind: str | None, *, actor: Principal
) -> None:
    """Store a preview and the event of its change; visits of one that is gone end."""
    sandbox = await rows.sandboxes.get(preview.sandbox_id)
    owned = preview if sandbox is None else replace(preview, owner=sandbox.owner)
    await rows.previews.put(owned)
    if owned.state is PreviewState.GONE:
        await rows.preview_visits.remove_of(owned.id)
    if kind is None:
        return
    draft = EventDraft(
        id=ground.ids.event(),
        stream=sandbox_stream(owned.sandbox_id),
        event_type=kind,
        at=ground.clock.now(),
        org_id=owned.org_id,
        owner=owned.owner,
        actor=actor,
        reason=owned.reason,
        payload=_event_payload(owned),
    )
    await rows.events.append((draft,))


def observe_setup(project: SandboxProject | None) -> SetupSeen:
    """Return what the project of a sandbox reports about its set-up."""
    if project is None:
        return SetupSeen(SetupState.NONE)
    return SetupSeen(project.state, project.terminal_id, project.reason)


def _new(sandbox: Sandbox, request: PreviewRequest, ground: Ground) -> Preview:
    now = ground.clock.now()
    return Preview(
        id=PreviewId(ground.ids.new("pv")),
        org_id=sandbox.org_id,
        owner=sandbox.owner,
        sandbox_id=sandbox.id,
        app=request.app,
        port=request.port,
        pr_number=request.pr_number,
        sha=request.sha,
        created_at=now,
        updated_at=now,
    )


async def _check_name(rows: Transaction, preview: Preview) -> None:
    """Check that the name of a pull request was never another organization's: browsers keep service
    workers by name. Raises `Conflict`."""
    if preview.pr_number is None:
        return
    before = await rows.previews.named(preview.label)
    if any(other.org_id != preview.org_id for other in before):
        raise Conflict(
            f"The name {preview.label} is not free: choose another name for the app.",
            code="preview_name_taken",
        )


def _check_preview(sandbox: Sandbox, preview: Preview | None, preview_id: str) -> Preview:
    """Return the preview when it is the sandbox's. Raises `NotFound`."""
    if preview is None or preview.sandbox_id != sandbox.id:
        raise NotFound(
            f"There is no preview {preview_id[:80]!r}: list them to see which there are."
        )
    return preview


def _event_payload(preview: Preview) -> Mapping[str, Json]:
    payload: dict[str, Json] = {
        "preview_id": preview.id,
        "sandbox_id": preview.sandbox_id,
        "app": preview.app,
        "port": preview.port,
        "state": preview.state.value,
    }
    optional = ("pr_number", "sha", "terminal_id")
    given = {name: getattr(preview, name) for name in optional}
    return {**payload, **{name: value for name, value in given.items() if value is not None}}
