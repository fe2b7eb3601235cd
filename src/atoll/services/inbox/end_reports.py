"""Reports when the end of a sandbox is announced: a line at its terminals, and as events the work
that is only there.

Programs that follow the log learn from it what the inbox shows a person. An event counts files
and names commits; the only words from inside are the names of pushed branches, as git spells them.
"""

import asyncio

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.event import SANDBOX_STREAMS, Event, EventDraft, Json, sandbox_stream
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import LOCAL_PERSON, SYSTEM
from atoll.domain.sandboxes.lifetime import end_of, extension_of
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.services.ground import Ground
from atoll.services.journals.events import Events
from atoll.services.library.pushes import HeldPushes
from atoll.services.library.unpulled import UnpulledPlace, UnpulledWork
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.wire.contract.terminals import NoticeBody, tell_everybody

LOOK_SECONDS = 60.0
AT_ONCE = 4

_log = structlog.get_logger(__name__)


class EndReports:
    """The follower of the log that reports what would be lost with a sandbox."""

    def __init__(
        self,
        ground: Ground,
        events: Events,
        sandboxes: Sandboxes,
        *,
        access: RuntimeAccess,
        unpulled: UnpulledWork,
        pushes: HeldPushes,
    ) -> None:
        self._ground = ground
        self._events = events
        self._sandboxes = sandboxes
        self._access = access
        self._unpulled = unpulled
        self._pushes = pushes
        self._room = asyncio.Semaphore(AT_ONCE)
        self._started = asyncio.Event()

    async def started(self) -> None:
        """Return once `run` follows the log: what is appended from then on is reported on."""
        await self._started.wait()

    async def run(self) -> None:
        """Report on each sandbox whose end is announced from now on; never returns."""
        async with asyncio.TaskGroup() as tasks:
            async for event in self._events.appended(LOCAL_PERSON, started=self._started):
                if event.event_type == "sandbox.ends_soon":
                    tasks.create_task(self._follow(event))

    async def _follow(self, event: Event) -> None:
        sandbox_id = SandboxId(event.stream.removeprefix(SANDBOX_STREAMS))
        for step in (self.tell, self.report):
            try:
                async with self._room, asyncio.timeout(LOOK_SECONDS):
                    await step(sandbox_id)
            except (AtollError, TimeoutError) as error:
                _log.warning("end_not_reported", sandbox=sandbox_id, reason=str(error)[:300])
            except Exception:  # noqa: BLE001 - the task's root
                _log.exception("end_report_broke", sandbox=sandbox_id)

    async def tell(self, sandbox_id: SandboxId) -> None:
        """Tell everybody at its terminals that a running sandbox ends soon. Raises what its runtime
        does."""
        sandbox = await self._sandboxes.get(LOCAL_PERSON, sandbox_id)
        if sandbox.state in RUNNING:
            client = self._access.runtime_of(sandbox)
            await client.call(tell_everybody(NoticeBody(text=_warning(sandbox))))

    async def report(self, sandbox_id: SandboxId) -> None:
        """Append `sandbox.unpulled`, unless nothing is only in the sandbox. Raises what looking
        into it does."""
        sandbox = await self._sandboxes.get(LOCAL_PERSON, sandbox_id)
        held = await self._pushes.shown(LOCAL_PERSON, sandbox_id)
        places = await self._unpulled.of(LOCAL_PERSON, sandbox_id)
        if not places and not held:
            return
        payload = _event_payload(
            sandbox, places, [worktree.pushed.branch for worktree in held if worktree.pushed]
        )
        ground, stream = self._ground, sandbox_stream(sandbox.id)
        draft = EventDraft(
            ground.ids.event(), stream, "sandbox.unpulled", ground.clock.now(), sandbox.org_id,
            sandbox.owner, SYSTEM, None, payload,
        )  # fmt: skip
        async with ground.store.begin() as rows:
            await rows.events.append((draft,))
        ground.bus.announce((stream,))


def _warning(sandbox: Sandbox) -> str:
    more = "extend it, or pull its work"
    if extension_of(sandbox) == 0:
        more = "its profile allows no more, so pull its work"
    return f"{sandbox.name} ends at {sandbox.expires_at:%Y-%m-%d %H:%M} UTC: {more}"


def _event_payload(
    sandbox: Sandbox, places: tuple[UnpulledPlace, ...], pushed: list[str]
) -> dict[str, Json]:
    end = end_of(sandbox) or sandbox.expires_at
    return {
        "sandbox_id": sandbox.id,
        "name": sandbox.name,
        "generation": sandbox.generation,
        "state": sandbox.state.value,
        "expires_at": end.isoformat(),
        "places": [_place(place) for place in places],
        "pushed": list(pushed),
    }


def _place(place: UnpulledPlace) -> Json:
    return {
        "path": place.path,
        "repo": place.repo,
        "branch": place.branch,
        "commits": place.commits,
        "tip": place.tip,
        "stashes": place.stashes,
        "files": len(place.changed) + len(place.untracked) + place.more,
    }
