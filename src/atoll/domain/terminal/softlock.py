"""The soft lock: who may type to an agent now (design R1).

The lock follows the agent's turn: closed from its prompt until it ends or asks its person. Pure:
what happened comes in as calls, times are seconds on any steady scale, and `deadline` says when
`tick` is due. Hooks, transcripts and protocols that report an agent's work are not known here.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

UNPROMPTED_SECONDS = 4.0
"""A beginning without a prompt ends by itself after so long: a report of work that is over, or
that never began, must not keep people from typing."""

_INTERRUPT = re.compile(
    # Esc and Ctrl-C, and both as the kitty and xterm keyboard protocols spell them; modifiers
    # may hold caps lock (64) and num lock (128), which a person does not press.
    rb"\x1b|\x03"
    rb"|\x1b\[27(?:;(?:1|65|129|193)(?::[123])?)?u"
    rb"|\x1b\[99;(?:5|69|133|197)(?::[123])?u"
    rb"|\x1b\[27;5;99~"
)


class AgentState(StrEnum):
    """What an agent's processes do, by the multiplayer protocol's three words."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


class Work(StrEnum):
    """Whose turn it is while the agent runs: it works, or it waits for its person."""

    WORKING = "working"
    WAITING = "waiting"


class Strictness(StrEnum):
    """Whom the lock stops while the agent works: everybody but the owner, or everybody."""

    OWNER = "owner"
    STRICT = "strict"


class Locked(StrEnum):
    """Why typing is refused; stable codes."""

    RUNNING = "agent_running"
    PAUSED = "agent_paused"


REASONS = {
    Locked.RUNNING: "the agent is working: wait until it is done, or interrupt, pause or stop it",
    Locked.PAUSED: "the agent is paused, and what is typed now must not reach it later: resume "
    "it first, or type in another terminal",
}


def is_interrupt(keys: bytes) -> bool:
    """Whether one frame of input is Esc or Ctrl-C and nothing else."""
    return len(keys) <= 16 and _INTERRUPT.fullmatch(keys) is not None


@dataclass(slots=True)
class SoftLock:
    """One agent's lock. Every method returns whether anything changed.

    The lock of an agent that reports nothing is closed by `began` and opened by `yielded`, which
    somebody then calls explicitly.
    """

    strictness: Strictness = Strictness.OWNER
    state: AgentState = AgentState.RUNNING
    work: Work = Work.WAITING
    deadline: float | None = None
    _prompted: bool = False
    _reports_prompts: bool = False

    @property
    def refusal(self) -> Locked | None:
        """Why the agent takes no prompt now; None while it does. A stopped agent refuses
        nothing: its terminal has ended, and reports that itself."""
        match self.state:
            case AgentState.STOPPED:
                return None
            case AgentState.PAUSED:
                return Locked.PAUSED
            case AgentState.RUNNING:  # pragma: no branch - the cases are all
                return Locked.RUNNING if self.work is Work.WORKING else None

    @property
    def asking(self) -> bool:
        """Whether the agent waits for an answer within its turn."""
        return self._prompted and self.work is Work.WAITING

    def refusal_of(self, keys: bytes, *, owner: bool) -> Locked | None:
        """Why these keys are refused now; None when they may pass. Nothing passes to a paused
        agent, which would find it when it is resumed."""
        refusal = self.refusal
        if refusal is not Locked.RUNNING or is_interrupt(keys):
            return refusal if refusal is Locked.PAUSED else None
        return None if owner and self.strictness is Strictness.OWNER else refusal

    def began(self) -> bool:
        """A prompt was given: the turn begins."""
        if self.state is AgentState.STOPPED:
            return False
        self._prompted, self._reports_prompts, self.deadline = True, True, None
        return self._work(Work.WORKING)

    def worked(self, now: float) -> bool:
        """The agent did something. Within a turn it works again, as after an answer. Without
        one nothing begins, unless this agent has never reported a prompt."""
        if self._prompted:
            self.deadline = None
            return self._work(Work.WORKING)
        return not self._reports_prompts and self.supposed(now)

    def supposed(self, now: float) -> bool:
        """The agent probably works: until its prompt is reported, this ends by itself."""
        known = self.work is Work.WORKING and self.deadline is None
        if known or self.state is AgentState.STOPPED:
            return False
        self.deadline = now + UNPROMPTED_SECONDS
        return self._work(Work.WORKING)

    def yielded(self) -> bool:
        """The agent asks its person: the turn goes on with the answer."""
        self.deadline = None
        return self._work(Work.WAITING)

    def ended(self) -> bool:
        """The turn is over."""
        self._prompted = False
        return self.yielded()

    def tick(self, now: float) -> bool:
        """Time has passed: end what began without a prompt."""
        return self.deadline is not None and now >= self.deadline and self.yielded()

    def paused(self) -> bool:
        """Its processes were stopped. Its work stays what it was: it goes on when resumed."""
        return self._go(AgentState.PAUSED, unless=AgentState.STOPPED)

    def resumed(self) -> bool:
        """Its processes go on."""
        return self._go(AgentState.RUNNING, unless=AgentState.STOPPED)

    def stopped(self) -> bool:
        """It is gone, for good."""
        self.work, self.deadline, self._prompted = Work.WAITING, None, False
        return self._go(AgentState.STOPPED)

    def _work(self, work: Work) -> bool:
        if self.state is AgentState.STOPPED or self.work is work:
            return False
        self.work = work
        return True

    def _go(self, state: AgentState, *, unless: AgentState | None = None) -> bool:
        if self.state in (state, unless):
            return False
        self.state = state
        return True
