"""Notices to a person's own command when an agent begins to need them, or is done.

The log is followed from now on: what was appended while nobody followed is no longer news. A
notice carries a fixed word and the name of the sandbox or dashboard, each of which causes at most
ten a minute.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.event import DASHBOARD_STREAMS, SANDBOX_STREAMS, Event
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.people.push import PushRate, PushReason, push_reason
from atoll.domain.sandboxes.sandbox import GONE
from atoll.services.journals.events import Events
from atoll.services.sandboxes.sandboxes import Sandboxes

Notify = Callable[[str, str], Awaitable[None]]
"""Notifies with one of `WORDS` and the name of a sandbox or a dashboard; bounds itself, never
fails."""

WORDS = {
    PushReason.NEEDS_YOU: "needs-you",
    PushReason.DONE: "done",
    PushReason.FAILED: "failed",
    PushReason.SETUP_FAILED: "setup-failed",
    PushReason.PUSHED: "pushed",
    PushReason.ENDS_SOON: "ends-soon",
    PushReason.MENTIONED: "mentioned",
}

_log = structlog.get_logger(__name__)


class Notices:
    """The follower of the log that notifies."""

    def __init__(self, events: Events, sandboxes: Sandboxes, notify: Notify) -> None:
        self._events = events
        self._sandboxes = sandboxes
        self._notify = notify
        self._rate = PushRate()
        self._started = asyncio.Event()

    async def started(self) -> None:
        """Return once `run` follows the log: what is appended from then on is notified of."""
        await self._started.wait()

    async def run(self) -> None:
        """Notify of what is appended from now on; never returns."""
        async with asyncio.TaskGroup() as tasks:
            async for event in self._events.appended(LOCAL_PERSON, started=self._started):
                reason = reason_of(event)
                if reason is not None and self._admits(event):
                    tasks.create_task(self._tell(event, reason))

    def _admits(self, event: Event) -> bool:
        rate = self._rate.admit(event.stream, event.at)
        if rate is None:
            return False
        self._rate = rate
        return True

    async def _tell(self, event: Event, reason: PushReason) -> None:
        sandbox_id = event.stream.removeprefix(SANDBOX_STREAMS)
        try:
            if reason is PushReason.MENTIONED:
                await self._notify(WORDS[reason], str(event.payload.get("name")))
                return
            sandbox = await self._sandboxes.get(LOCAL_PERSON, sandbox_id)
            own = sandbox.owner == LOCAL_PERSON.id  # what others share is theirs to look after
            if own and sandbox.state not in GONE:
                await self._notify(WORDS[reason], sandbox.name)
        except AtollError as error:
            _log.info("notice_dropped", sandbox=sandbox_id, reason=error.message)
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("notice_broke", sandbox=sandbox_id)


def reason_of(event: Event) -> PushReason | None:
    """Return why a person is notified of an event; None for most."""
    if not event.stream.startswith((SANDBOX_STREAMS, DASHBOARD_STREAMS)):
        return None
    if event.payload.get("begins") is False:
        return None
    status = event.payload.get("status", event.payload.get("setup"))
    return push_reason(event.event_type, status)
