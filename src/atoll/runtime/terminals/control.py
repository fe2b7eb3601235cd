"""Control of one terminal: performs what `domain.terminals.turn` decides.

It keeps the turn's time, announces every change to viewers and writes it down. Bytes, sizes and
backlog are the terminal's.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from atoll.domain.terminals.turn import Act, Change, Party, Turn, TurnRefusal
from atoll.runtime.clock import Alarm
from atoll.runtime.terminals.control_audit import ControlAudit
from atoll.wire.attach import ControlExpired, ControlState, Member, ServerMessage

_EXPIRED = {Act.IDLED: "idle", Act.LAPSED: "grace"}


HeldUntil = Callable[[float], float | None]


class ControlledTerminal(Protocol):
    """The terminal this is about."""

    def tell(self, message: ServerMessage) -> None:
        """Report to every viewer."""
        ...

    def set_driver(self, client: str | None) -> None:
        """Report that another client drives from now on, or nobody does."""
        ...


class Control:
    """Control of one terminal on the event loop. Call `close` when the terminal has ended.
    `held_until` returns, for the time a driver left, how long its grace is held because the control
    plane is away; None while it is there."""

    def __init__(
        self,
        turn: Turn,
        room: ControlledTerminal,
        audit: ControlAudit,
        *,
        held_until: HeldUntil,
    ) -> None:
        self.turn = turn
        self._on_room = room
        self._audit = audit
        self._loop = asyncio.get_running_loop()
        self._alarm = Alarm(self._tick)
        self.held_until = held_until
        self._shown: ControlState | None = None
        self._driver: str | None = None
        self._closed = False

    def state(self) -> ControlState:
        """Return who drives, who waits and who is connected."""
        turn = self.turn
        return ControlState(
            driver=None if turn.driver is None else _member(turn.driver),
            epoch=turn.epoch,
            waiting=tuple(_member(party) for party in turn.waiting),
            watchers=tuple(_member(party) for party in turn.present),
            away=turn.left_at is not None,
            agent=turn.agent,
        )

    def join(self, party: Party, *, take: bool = False) -> None:
        """Add an attached client; with `take` it requests control at once, as far as it may."""
        now = self._loop.time()
        self._hold()
        self.turn.joined(party, now)
        if take:
            self.turn.taken(party.client, now)
        self._settle()

    def leave(self, client: str) -> None:
        """Remove a client."""
        self.turn.left(client, self._loop.time())
        self._settle()

    def resume(self) -> None:
        """Resume the graces: the control plane answers again."""
        self.turn.resume(self._loop.time())
        self._settle()

    def request(self, client: str) -> TurnRefusal | None:
        """Handle `request_control`."""
        return self._settle_with(self.turn.requested(client, self._loop.time()))

    def grant(self, client: str, to: str | None) -> TurnRefusal | None:
        """Handle `grant_control`."""
        return self._settle_with(self.turn.granted(client, to, self._loop.time()))

    def revoke(self, client: str) -> TurnRefusal | None:
        """Handle `revoke_control`."""
        return self._settle_with(self.turn.revoked(client, self._loop.time()))

    def may_type(self, client: str, *, passes: bool = False) -> TurnRefusal | None:
        """Return whether a client's keystrokes are accepted now. Typing at a free terminal takes
        it. `passes`: the agent's lock lets these keys through."""
        refusal = self.turn.typed(client, self._loop.time(), passes=passes)
        if self.turn.epoch != self._epoch:
            self._settle()
        return refusal

    def typed(self, party: Party, count: int) -> None:
        """Count bytes of this client that went to the program."""
        self._audit.typed(party, count)

    def agent_takes(self, name: str) -> None:
        """Give control to the working agent inside, until `agent_yields`."""
        self.turn.agent_took(name)
        self._settle()

    def agent_yields(self) -> None:
        """Take control back: the agent inside is done, paused or gone."""
        self.turn.agent_yielded()
        self._settle()

    def close(self) -> None:
        """Stop the clock as the terminal has ended, and write everything down."""
        self._closed = True
        self._audit.close()
        self._alarm.cancel()

    @property
    def _epoch(self) -> int:
        return -1 if self._shown is None else self._shown.epoch

    def _settle_with(self, refusal: TurnRefusal | None) -> TurnRefusal | None:
        """Settle the control after a request, and return its refusal."""
        self._settle()
        return refusal

    def _settle(self) -> None:
        """Perform what the turn's last stimulus changed."""
        for change in self.turn.drain():
            self._announce(change)
        driver = None if self.turn.driver is None else self.turn.driver.client
        if driver != self._driver:
            self._driver = driver
            self._on_room.set_driver(driver)
        state = self.state()
        if state != self._shown:
            self._shown = state
            self._on_room.tell(state)
        self._alarm.set(None if self._closed else self.turn.deadline)

    def _announce(self, change: Change) -> None:
        if not self._closed:
            self._audit.changed(change)
        reason = _EXPIRED.get(change.act)
        if reason is not None and change.party is not None:
            self._on_room.tell(ControlExpired(change.party.principal, change.party.client, reason))

    def _hold(self) -> None:
        """Hold the grace of a driver who left, where the control plane is away."""
        left_at = self.turn.left_at
        until = None if left_at is None else self.held_until(left_at)
        if until is not None:
            self.turn.hold(until)

    def _tick(self) -> None:
        self._hold()
        self.turn.tick(self._loop.time())
        self._settle()


def _member(party: Party) -> Member:
    return Member(party.principal, party.name, party.client, party.role)
