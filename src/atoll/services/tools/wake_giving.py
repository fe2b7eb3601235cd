"""The giving of wakes: whether one is due for a sandbox, and its agent asked.

A wake is stored before it is given, and the runtime knows it again by its id. So it is given once,
whenever a control plane dies.
"""

import asyncio
from datetime import datetime
from typing import Final

import structlog

from atoll.domain.errors import AtollError, Conflict, NotFound
from atoll.domain.event import EventDraft, Json, sandbox_stream
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import SYSTEM
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.domain.tools.waking import (
    AGAIN,
    GiveWake,
    LookAgain,
    Wake,
    WakeDue,
    WakeGiven,
    WakeRefused,
    WakingInstruction,
    step,
    wake_list,
    wake_title,
    wake_words,
)
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.wire.contract.agents import WakeBody, WokenRecord, wake_agent

GIVE_SECONDS: Final = 60.0
"""The time in which a runtime has to ask an agent: it types at terminals that are slow to draw."""

_BY_PERSON: Final = frozenset({"in_use", "draft"})
"""The refusals that end when a person leaves a terminal."""

_log = structlog.get_logger(__name__)


class WakeGiving:
    """Gives wakes, one sandbox at a time. `scheme` begins every URI that is named."""

    def __init__(self, ground: Ground, access: RuntimeAccess, *, scheme: str) -> None:
        self._ground = ground
        self._access = access
        self._scheme = scheme

    async def look(self, sandbox_id: SandboxId) -> datetime | None:
        """Wake the agent of a sandbox if that is due. Returns when to look again, None where
        nothing is due before something else happens. Raises `Conflict` when another process leads,
        `Unavailable`."""
        async with self._ground.store.begin() as rows:
            sandbox, instruction = await self._decide_wake(rows, sandbox_id)
        match instruction:
            case None:
                return None
            case LookAgain(at):
                return at
            case GiveWake(wake):
                return None if sandbox is None else await self._give(sandbox, wake)

    async def _decide_wake(
        self, rows: Transaction, sandbox_id: SandboxId
    ) -> tuple[Sandbox | None, WakingInstruction]:
        """Step the waking state of a sandbox. Returns the sandbox and the instruction."""
        await self._ground.leadership.check(rows)
        sandbox = await rows.sandboxes.get(sandbox_id)
        waking = await rows.wakings.get(sandbox_id)
        if sandbox is None or waking is None or sandbox.state not in RUNNING:
            return sandbox, None
        due = WakeDue(self._ground.ids.new("wake"), self._ground.clock.now())
        after, instruction = step(waking, due)
        if after != waking:
            await rows.wakings.put(sandbox, after)
        return sandbox, instruction

    async def _give(self, sandbox: Sandbox, wake: Wake) -> datetime | None:
        """Give a wake, and store how that went. One of which that is not known is given again."""
        body = WakeBody(
            wake_id=wake.id,
            prompt=wake_words(wake, self._scheme),
            title=wake_title(wake),
            text=wake_list(wake, self._scheme),
        )
        try:
            async with asyncio.timeout(GIVE_SECONDS):
                woken = await self._access.runtime_of(sandbox).call(wake_agent(body))
        except (Conflict, NotFound) as error:
            return await self._note_refusal(sandbox.id, wake, error)
        except (AtollError, TimeoutError) as error:
            _log.warning("wake_not_given", sandbox=sandbox.id, reason=str(error)[:300])
            return self._ground.clock.now() + AGAIN
        return await self._record_wake(sandbox.id, wake, woken)

    async def _note_refusal(
        self, sandbox_id: SandboxId, wake: Wake, error: Conflict | NotFound
    ) -> datetime | None:
        now = self._ground.clock.now()
        _log.info("wake_waits", sandbox=sandbox_id, reason=error.code)
        refused = WakeRefused(wake.id, now, by_person=error.code in _BY_PERSON)
        async with self._ground.store.begin() as rows:
            sandbox = await rows.sandboxes.get(sandbox_id)
            waking = await rows.wakings.get(sandbox_id)
            if sandbox is None or waking is None:
                return None
            after, instruction = step(waking, refused)
            await rows.wakings.put(sandbox, after)
        return instruction.at if isinstance(instruction, LookAgain) else now

    async def _record_wake(
        self, sandbox_id: SandboxId, wake: Wake, woken: WokenRecord
    ) -> datetime | None:
        """Store that a wake was given. Returns the present time when another wake waits."""
        now = self._ground.clock.now()
        async with self._ground.store.begin() as rows:
            sandbox = await rows.sandboxes.get(sandbox_id)
            waking = await rows.wakings.get(sandbox_id)
            if sandbox is None or waking is None or waking.wake != wake:
                return None
            after, _ = step(waking, WakeGiven(wake.id, now))
            await rows.wakings.put(sandbox, after)
            await rows.events.append((self._event(sandbox, wake, woken, at=now),))
        self._ground.bus.announce((sandbox_stream(sandbox_id),))
        return now if after.waits else None

    def _event(
        self, sandbox: Sandbox, wake: Wake, woken: WokenRecord, *, at: datetime
    ) -> EventDraft:
        payload: dict[str, Json] = {
            "sandbox_id": sandbox.id,
            "generation": sandbox.generation,
            "id": woken.id,
            "agent": woken.agent,
            "wake_id": wake.id,
            "uris": [f"{self._scheme}://{change.path}" for change in wake.named],
            "more": wake.more,
        }
        return EventDraft(
            id=self._ground.ids.event(),
            stream=sandbox_stream(sandbox.id),
            event_type="agent.woken",
            at=at,
            org_id=sandbox.org_id,
            owner=sandbox.owner,
            actor=SYSTEM,
            reason=None,
            payload=payload,
        )
