"""The soft lock: the rule that decides who may type to an agent now.

The lock follows the agent's turn: closed from its prompt until it ends or asks its person. Pure:
what happened comes in as calls, times are seconds on any steady scale, and `deadline` tells when
`tick` is due. The sources of reports (hooks, transcripts, protocols) are not known here.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from atoll.wire.words.terminals import Strictness

UNPROMPTED_SECONDS = 4.0
"""The time after which a turn without a prompt ends by itself. A report of work that is over, or
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
    """The state of an agent's processes: the three values of the multiplayer protocol."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


class Work(StrEnum):
    """The turn while the agent runs: it works, or it waits for its person."""

    WORKING = "working"
    WAITING = "waiting"


class LockReason(StrEnum):
    """The reason why typing is refused; stable codes."""

    RUNNING = "agent_running"
    PAUSED = "agent_paused"


REASONS = {
    LockReason.RUNNING: "the agent is working: wait until it is done, or interrupt, "
    "pause or stop it",
    LockReason.PAUSED: "the agent is paused, and what is typed now must not reach it later: resume "
    "it first, or type in another terminal",
}


def is_interrupt(keys: bytes) -> bool:
    """Report whether one frame of input is Esc or Ctrl-C and nothing else."""
    return len(keys) <= 16 and _INTERRUPT.fullmatch(keys) is not None


@dataclass(slots=True)
class SoftLock:
    """The lock of one agent. Every method returns whether anything changed.

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
    def refusal(self) -> LockReason | None:
        """The reason why the agent takes no prompt now; None while it does. A stopped agent refuses
        nothing: its terminal has ended, and reports that itself."""
        match self.state:
            case AgentState.STOPPED:
                return None
            case AgentState.PAUSED:
                return LockReason.PAUSED
            case AgentState.RUNNING:  # pragma: no branch - the cases are all
                return LockReason.RUNNING if self.work is Work.WORKING else None

    @property
    def asking(self) -> bool:
        """True if the agent waits for an answer within its turn."""
        return self._prompted and self.work is Work.WAITING

    def refusal_of(self, keys: bytes, *, owner: bool) -> LockReason | None:
        """Return why these keys are refused now; None when they may pass. Nothing passes to a
        paused agent, which would receive it when it is resumed."""
        refusal = self.refusal
        if refusal is not LockReason.RUNNING or is_interrupt(keys):
            return refusal if refusal is LockReason.PAUSED else None
        return None if owner and self.strictness is Strictness.OWNER else refusal

    def began(self) -> bool:
        """Begin a turn: a prompt was given."""
        if self.state is AgentState.STOPPED:
            return False
        self._prompted, self._reports_prompts, self.deadline = True, True, None
        return self._work(Work.WORKING)

    def worked(self, now: float) -> bool:
        """Record that the agent did something.

        Within a turn it works again, as after an answer. Without one nothing begins, unless this
        agent has never reported a prompt.
        """
        if self._prompted:
            self.deadline = None
            return self._work(Work.WORKING)
        return not self._reports_prompts and self.supposed(now)

    def supposed(self, now: float) -> bool:
        """Begin a supposed turn: until the prompt is reported, it ends by itself."""
        known = self.work is Work.WORKING and self.deadline is None
        if known or self.state is AgentState.STOPPED:
            return False
        self.deadline = now + UNPROMPTED_SECONDS
        return self._work(Work.WORKING)

    def yielded(self) -> bool:
        """Record that the agent asks its person: the turn continues with the answer."""
        self.deadline = None
        return self._work(Work.WAITING)

    def ended(self) -> bool:
        """End the turn."""
        self._prompted = False
        return self.yielded()

    def tick(self, now: float) -> bool:
        """End a turn that began without a prompt, once its time has passed."""
        return self.deadline is not None and now >= self.deadline and self.yielded()

    def paused(self) -> bool:
        """Record that the processes were stopped. The work keeps its state, and continues when
        resumed."""
        return self._go(AgentState.PAUSED, unless=AgentState.STOPPED)

    def resumed(self) -> bool:
        """Record that the processes continue."""
        return self._go(AgentState.RUNNING, unless=AgentState.STOPPED)

    def loosened(self) -> bool:
        """Let the owner type on while the agent works, where the lock was strict."""
        changed = self.strictness is Strictness.STRICT
        self.strictness = Strictness.OWNER
        return changed

    def stopped(self) -> bool:
        """Record that the agent has ended and does not come back."""
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
