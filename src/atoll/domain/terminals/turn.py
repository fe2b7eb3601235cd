"""Control of a terminal as a lease: requested, granted, taken and lost.

A state machine without a clock: every stimulus brings the time, in seconds on any
steady scale, and `deadline` tells when `tick` is due. At most one client drives. `epoch` counts the
leases, so an older one can never be mistaken for the present one. It moves no bytes; `drain`
returns the changes since its last call.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from atoll.wire.words.terminals import Role

GRACE_SECONDS = 10.0
"""The time for which a driver without a connection keeps control. While the control plane is away,
this grace is held (`hold`)."""

IDLE_SECONDS = 15 * 60.0
"""The time without input after which a driver loses control, but only while somebody waits."""


USING_SECONDS = 60.0
"""The time without input, or since it was given control, in which a driver counts as using the
terminal."""


@dataclass(frozen=True, slots=True)
class Party:
    """A client and its principal. A client id belongs to one principal at a time. With `given` it
    drives only where another one gives it control, never for want of a driver."""

    principal: str
    name: str
    client: str
    role: Role
    given: bool = False


class Act(StrEnum):
    """A change of control."""

    GRANTED = "granted"
    RELEASED = "released"
    TAKEN = "taken"
    IDLED = "idled"
    LAPSED = "lapsed"
    AGENT_TOOK = "agent_took"
    AGENT_YIELDED = "agent_yielded"


@dataclass(frozen=True, slots=True)
class Change:
    """A change, the party it concerns, and who caused it when that is another party."""

    act: Act
    epoch: int
    party: Party | None
    by: Party | None = None


@dataclass(frozen=True, slots=True)
class TurnRefusal:
    """A refused stimulus: a word for programs and a sentence for people."""

    code: str
    message: str


_STRANGER = TurnRefusal("not_attached", "this client is not attached here")
_VIEWER = TurnRefusal("viewer", "you may watch here, not type")
_NOT_DRIVER = TurnRefusal("not_driver", "somebody else drives; request control first")
_NOT_YOURS = TurnRefusal("not_driver", "only the driver can give control away")
_NOBODY = TurnRefusal(
    "no_such_party", "nobody of that name waits or watches here with leave to type"
)


@dataclass(slots=True)
class Turn:
    """The control of one terminal.

    `creator` is the principal that opened it. `agent` is the agent working in it, if there is one:
    it takes control without a request and yields when done. Until then the driver keeps everything
    but typing, and that too as far as the soft lock allows.
    """

    creator: str | None = None
    epoch: int = 0
    driver: Party | None = None
    left_at: float | None = None
    agent: str | None = None
    _held_until: float | None = None
    _used: float = 0.0
    _present: dict[str, Party] = field(default_factory=dict)
    _waiting: dict[str, Party] = field(default_factory=dict)
    _changes: list[Change] = field(default_factory=list)

    @property
    def waiting(self) -> tuple[Party, ...]:
        """The parties that requested control and do not have it, first come first."""
        return tuple(self._waiting.values())

    @property
    def present(self) -> tuple[Party, ...]:
        """The attached parties, in the order they came."""
        return tuple(self._present.values())

    def drives(self, client: str) -> bool:
        """Report whether this client holds control."""
        return self.driver is not None and self.driver.client == client

    def in_use(self, now: float) -> bool:
        """Report whether a person uses the terminal: one who only looks on does not."""
        return self.driver is not None and now < self._used + USING_SECONDS

    def claimed(self, client: str, principal: str) -> bool:
        """Report whether a client id belongs to another principal: attached, or within its
        grace."""
        holders = [self._present.get(client), self.driver if self.drives(client) else None]
        return any(party is not None and party.principal != principal for party in holders)

    def drain(self) -> list[Change]:
        """Return the changes since the last call, oldest first."""
        changes, self._changes = self._changes, []
        return changes

    # Coming and going.

    def joined(self, party: Party, now: float) -> None:
        """Record that a client attached.

        The driver's own client resumes its lease. At a free terminal its owner, and whoever opened
        it, drive at once. Raises `ValueError` for a client id that is `claimed`.
        """
        self.tick(now)
        if self.claimed(party.client, party.principal):
            raise ValueError(f"client {party.client} belongs to another principal")
        self._present[party.client] = party
        self._waiting.pop(party.client, None)
        if self.drives(party.client):
            if party.role is Role.VIEWER:
                self._release_control(Act.RELEASED, now)
            else:
                self.driver, self.left_at = party, None
        elif self.driver is None and self._sits_down(party):
            self._hand(party, Act.GRANTED, now)

    def left(self, client: str, now: float) -> None:
        """Record that a client's connection is gone: a driver's grace begins, a request is
        withdrawn."""
        self.tick(now)
        self._present.pop(client, None)
        self._waiting.pop(client, None)
        if self.drives(client) and self.left_at is None:
            self.left_at, self._held_until = now, None

    def hold(self, until: float) -> None:
        """Extend the grace of a driver who left to `until` at least: the control plane is away."""
        self._held_until = until

    def resume(self, now: float) -> None:
        """Begin the grace of a driver who left anew: the control plane answers again."""
        self._held_until = None
        if self.left_at is not None:
            self.left_at = now

    # Requests, grants, and taking control.

    def requested(self, client: str, now: float) -> TurnRefusal | None:
        """Handle `request_control`.

        Control is granted at once when nobody drives, or when the driver is another client of the
        same principal; else the request waits for the driver. That of who is `given` control waits
        for somebody to give it, also at a free terminal.
        """
        self.tick(now)
        party = self._present.get(client)
        if party is None or party.role is Role.VIEWER:
            return _STRANGER if party is None else _VIEWER
        if self.drives(client):
            return None
        free = self.driver is None and not party.given
        if free or (self.driver is not None and self.driver.principal == party.principal):
            self._hand(party, Act.GRANTED, now)
            return None
        self._waiting.setdefault(client, party)
        self.tick(now)
        return None

    def granted(self, client: str, to: str | None, now: float) -> TurnRefusal | None:
        """Handle `grant_control`: the driver, or the owner, gives control to a principal or client
        that is present. Without a name it goes to who has waited longest."""
        self.tick(now)
        giver = self._present.get(client)
        if giver is None:
            return _STRANGER
        if not self.drives(client) and giver.role is not Role.OWNER:
            return _NOT_YOURS
        party = self._party_named(to)
        if party is None:
            return _NOBODY
        if not self.drives(party.client):
            self._hand(party, Act.GRANTED, now, by=giver)
        return None

    def revoked(self, client: str, now: float) -> TurnRefusal | None:
        """Handle `revoke_control`: a driver releases, an owner takes control back, and a waiting
        client withdraws its request."""
        self.tick(now)
        party = self._present.get(client)
        if party is None:
            return _STRANGER
        if self.drives(client):
            self._release_control(Act.RELEASED, now)
        elif party.role is Role.OWNER:
            self._hand(party, Act.TAKEN, now)
        elif self._waiting.pop(client, None) is None:
            return _NOT_YOURS
        return None

    def taken(self, client: str, now: float) -> TurnRefusal | None:
        """Take control without a request, as an owner may; from anybody else it is a request."""
        party = self._present.get(client)
        if party is None or party.role is not Role.OWNER or self.drives(client):
            return self.requested(client, now)
        self.tick(now)
        self._hand(party, Act.TAKEN, now)
        return None

    def typed(self, client: str, now: float, *, passes: bool = False) -> TurnRefusal | None:
        """Decide whether a client may type: None when it may.

        At a free terminal that requests control as well; typing never takes control from anybody.
        `passes`: these keys are for the agent that works.
        """
        self.tick(now)
        party = self._present.get(client)
        if party is None or party.role is Role.VIEWER:
            return _STRANGER if party is None else _VIEWER
        if self.agent is not None and not passes:
            return TurnRefusal("agent_running", f"{self.agent} has control until it yields")
        if self.driver is None and not party.given:
            self._hand(party, Act.GRANTED, now)
        if not self.drives(client):
            return _NOT_DRIVER
        self._used = now
        return None

    # Agents.

    def agent_took(self, name: str) -> None:
        """Record that the agent inside works: until it yields, only keys that pass its lock are
        typed."""
        if self.agent != name:
            self.agent = name
            self._note(Act.AGENT_TOOK, self.driver)

    def agent_yielded(self) -> None:
        """Record that the agent inside is done, paused or gone."""
        if self.agent is not None:
            self.agent = None
            self._note(Act.AGENT_YIELDED, self.driver)

    # Time.

    def tick(self, now: float) -> None:
        """End a grace that has passed, and a lease nobody uses while others wait."""
        deadline = self.deadline
        if deadline is not None and now >= deadline:
            self._release_control(Act.IDLED if self.left_at is None else Act.LAPSED, now)

    @property
    def deadline(self) -> float | None:
        """The time at which `tick` is due next; None while it is not."""
        if self.driver is None:
            return None
        idle = self._used + IDLE_SECONDS if self._waiting else None
        return min((when for when in (idle, self._grace_end) if when is not None), default=None)

    @property
    def _grace_end(self) -> float | None:
        if self.left_at is None:
            return None
        end = self.left_at + GRACE_SECONDS
        return end if self._held_until is None else max(end, self._held_until)

    def _sits_down(self, party: Party) -> bool:
        opened = party.role is Role.CONTROLLER and party.principal == self.creator
        return party.role is Role.OWNER or (opened and not party.given)

    def _party_named(self, to: str | None) -> Party | None:
        """Return the party named by `to`: those who wait before those who watch, and the newest
        client of a principal."""
        if to is None:
            return next(iter(self._waiting.values()), None)
        watching = reversed(self._present.values())
        able = [party for party in watching if party.role is not Role.VIEWER]
        for party in (*self._waiting.values(), *able):
            if to in (party.client, party.principal):
                return party
        return None

    def _hand(self, party: Party, act: Act, now: float, *, by: Party | None = None) -> None:
        self._waiting.pop(party.client, None)
        self.driver, self.left_at, self._used = party, None, now
        self._note(act, party, by)

    def _release_control(self, act: Act, now: float) -> None:
        """Release control; if somebody waits, a free terminal grants it at once."""
        gone, self.driver, self.left_at = self.driver, None, None
        self._note(act, gone)
        following = next((party for party in self._waiting.values() if not party.given), None)
        if following is not None:
            self._hand(following, Act.GRANTED, now)

    def _note(self, act: Act, party: Party | None, by: Party | None = None) -> None:
        self.epoch += 1
        self._changes.append(Change(act, self.epoch, party, by))
