"""Whose turn it is, as one client sees it: what to say about it, and what its control key does.

Pure. It reads `control_state` frames (docs/program/runtime-contract.md) and moves nothing itself.
"""

from dataclasses import dataclass

from atoll.wire.attach import (
    ControlState,
    GrantControl,
    Member,
    RequestControl,
    RevokeControl,
    encode,
)

MAX_NAME = 40

REQUEST = encode(RequestControl())
GRANT = encode(GrantControl())
REVOKE = encode(RevokeControl())


@dataclass(frozen=True, slots=True)
class TurnView:
    """The turn as it now is, for this client. `shared`: somebody else is here who
    may type; `others`: somebody else is here; `guests`: the clients of other people with their
    names, None before the first state."""

    drives: bool = False
    driver: str | None = None
    away: bool = False
    waits: bool = False
    asking: str | None = None
    viewer: bool = False
    shared: bool = False
    others: bool = False
    agent: str | None = None
    guests: frozenset[tuple[str, str]] | None = None

    def sentence(self, key: str) -> str:
        """Return what the person ought to know; empty for one who drives undisturbed."""
        if self.viewer:
            return "watching only"
        if self.drives and self.asking is not None:
            return f"{self.asking} asks for control, {key} gives it"
        if self.agent is not None:
            return f"{self.agent} works"
        if self.drives:
            return ""
        if self.driver is None:
            return "nobody drives"
        away = " (away)" if self.away else ""
        return f"asked {self.driver}{away}" if self.waits else f"{self.driver} drives{away}"

    def newcomers(self, before: "TurnView") -> str:
        """Return who came since `before`, in words; empty for nobody, and at the first state."""
        if self.guests is None or before.guests is None:
            return ""
        names = sorted({name for _, name in self.guests - before.guests})
        return f"{' and '.join(names)} came" if names else ""

    def refusal(self, key: str) -> str:
        """Return why a keystroke was dropped, and what helps."""
        if self.viewer or self.agent is not None:
            return self.sentence(key)
        driver = self.driver or "somebody"
        if self.waits:
            return f"{driver} was asked for control"
        return f"{driver} drives, {key} asks for control"

    def control_frame(self) -> str | None:
        """Return the frame the control key sends; None while the key has no meaning here and goes
        to the program like any other."""
        if self.viewer:
            return None
        if self.drives:
            if self.asking is not None:
                return GRANT
            return REVOKE if self.shared else None
        # Pressed again: an owner takes over, anybody else thinks better of it.
        return REVOKE if self.waits else REQUEST

    def leaving_frame(self) -> str | None:
        """Return the frame of one who detaches and drives: control is free at once, also for the
        same person's next attach. The grace is for lines that broke."""
        return REVOKE if self.drives else None


def read_turn(state: ControlState, client: str) -> TurnView:
    """Return a state of control, as the client `client` sees it."""
    driver, waiting = state.driver, state.waiting
    others = [watcher for watcher in state.watchers if watcher.client != client]
    me = next((watcher for watcher in state.watchers if watcher.client == client), None)
    return TurnView(
        drives=driver is not None and driver.client == client,
        driver=None if driver is None else _name(driver),
        away=state.away,
        waits=any(waiter.client == client for waiter in waiting),
        asking=_name(waiting[0]) if waiting else None,
        viewer=me is not None and me.role == "viewer",
        shared=any(watcher.role != "viewer" for watcher in others),
        others=bool(others),
        agent=(state.agent or "")[:MAX_NAME] or None,
        guests=frozenset(
            (member.client, _name(member))
            for member in (*state.watchers, *([driver] if driver else ()))
            if member.client != client and member.role != "owner"
        ),
    )


def _name(member: Member) -> str:
    return member.name[:MAX_NAME] or "somebody"
