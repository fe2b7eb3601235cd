"""Session of one agent: its lock, its cards, its processes, and its listeners.

How to speak to an agent depends on its mode: each has its own `AgentChannel` (`tui`, `machine`).
"""

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from atoll.domain.agents.card import (
    AgentReport,
    Began,
    Card,
    CardKind,
    CardState,
    Draft,
    Ended,
    Interrupted,
    Worked,
    Yielded,
)
from atoll.domain.agents.card_log import CardLog, Clean
from atoll.domain.agents.conversation import Step
from atoll.domain.agents.lenient_json import Message
from atoll.domain.agents.previews import previews
from atoll.domain.agents.settings import SettingName
from atoll.domain.agents.status import AttentionBudget
from atoll.domain.broker.audit_budget import AuditBudget
from atoll.domain.errors import Conflict, Forbidden, NotFound
from atoll.domain.terminals.softlock import REASONS, AgentState, LockReason, Work
from atoll.domain.tools.waking import SleepingAgent
from atoll.ports.spawner import Process
from atoll.runtime.agents.neighbours import AgentChannel, Record, SessionObserver, Tap
from atoll.runtime.agents.reporting import StatusReport
from atoll.runtime.agents.setting_change import AgentSettings
from atoll.runtime.agents.status import AgentStatus, Identity
from atoll.runtime.agents.stopping import Gaps, stop
from atoll.runtime.agents.turn_closing import TurnClosing
from atoll.runtime.agents.written import OVER, WrittenEnd
from atoll.runtime.clock import Alarm, timestamp
from atoll.wire.attach import AgentStateChanged
from atoll.wire.contract.agents import AgentRecord

_TOOLS = frozenset({CardKind.BASH, CardKind.TOOL_CALL, CardKind.DIFF, CardKind.FILE})
_PREVIEWED = frozenset({CardKind.TEXT, CardKind.BASH, CardKind.TOOL_CALL})


@dataclass(frozen=True, slots=True)
class SessionContext:
    """The runtime around a session. `clean` cleans the text of cards; `on_conversation` receives
    the conversation's id, in the agent's own naming; `on_end` is called once the agent's process is
    gone, `on_turn` with the id and name of an agent whose turn begins; `count` counts the
    changes of an agent and reports them later; `attention` bounds how often
    agents call for their person."""

    record: Record
    clean: Clean
    on_conversation: Callable[[Identity, str], None]
    on_end: "Callable[[AgentSession], None]"
    on_turn: Callable[[str, str], None] = lambda *_: None
    count: Callable[[str, Callable[[int, int, int], None]], None] = lambda *_: None
    attention: AttentionBudget = field(default_factory=AttentionBudget)


class AgentSession:
    """Session of one agent. Listeners are called after every change of its cards or its state;
    they must not block."""

    def __init__(
        self,
        status: AgentStatus,
        process: Process,
        channel: AgentChannel,
        context: SessionContext,
        *,
        observers: Sequence[SessionObserver] = (),
    ) -> None:
        self.identity = status.identity
        self.lock = status.lock
        self.cards = CardLog(clean=context.clean)
        self.listeners: set[Callable[[], None]] = set()
        self._status = status
        self._process = process
        self._channel = channel
        self._context = context
        self._observers = tuple(observers)
        self._budget = AuditBudget(asyncio.get_running_loop().time())
        self._stopping: asyncio.Future[None] | None = None
        self._began_at = ""
        self._turns = TurnClosing(self.cards, self._close, since=status.identity.started_at)
        self._announced: AgentStateChanged | None = None
        self._overrun = Alarm(self._tick)
        self._report = StatusReport(status, context.record, context.attention)
        self._written = WrittenEnd(self._over_by_record)
        self.settings = AgentSettings()
        self._led = False

    def shown(self) -> AgentRecord:
        """Return the agent's record as the contract defines it."""
        return AgentRecord(
            id=self.identity.id,
            agent=self.identity.name,
            mode=self.identity.mode,
            agent_state=self.lock.state,
            turn=self.lock.work,
            softlock=self.lock.strictness,
            watched=self._status.has_reported,
            cards=len(self.cards),
            started_at=self.identity.started_at,
            status=self._report.published,
            model=self.settings.value("model"),
            permission_mode=self.settings.value("permission_mode"),
        )

    @property
    def works(self) -> bool:
        """True while the agent is at its turn and not paused."""
        return self._status.works

    @property
    def asleep(self) -> SleepingAgent:
        """Return the agent as a wake finds it, wherever it runs."""
        known, lock = self._report.known, self.lock
        return SleepingAgent(
            self.identity.id,
            AgentState.STOPPED if self.stopping else lock.state,
            lock.work,
            known.status,
            reports=self.reports_turns,
            led=self._led,
            in_use=False,
        )

    @property
    def stopping(self) -> bool:
        """True when somebody is ending it."""
        return self._stopping is not None

    @property
    def lives(self) -> bool:
        """True until it has ended or somebody is ending it."""
        return not self.stopping and self.lock.state is not AgentState.STOPPED

    async def continues(self, process: Process) -> bool:
        """Go on with another process of the agent, which is paused where the agent is. Returns
        False for an agent that was ended meanwhile: the process is to end, too."""
        if not self.lives:
            return False
        self._process = process
        if self.lock.state is AgentState.PAUSED:
            await process.signal(signal.SIGSTOP, tree=True)
        return True

    # What the agent says.

    def reported(self, reports: Sequence[AgentReport]) -> None:
        """Apply a report of its turns."""
        self._status.reported()
        self.heard(reports)

    def apply(self, step: Step) -> None:
        """Apply one step of the agent's conversation, whose messages are already sent."""
        self.heard(step.said)
        if step.conversation:
            self.converses(step.conversation)
        if self.settings.apply(step):
            self._tell()

    def converses(self, conversation: str) -> None:
        """Report the conversation it has."""
        self._context.on_conversation(self.identity, conversation)

    def heard(
        self, reports: Sequence[AgentReport], *, turns: bool = True, at: str | None = None
    ) -> None:
        """Apply the output of a translator. Without `turns`, its turns are ignored, because a
        better source reports them. `at` is the time that the agent recorded, if any."""
        now = timestamp()
        changed = [self._take(report, now, turns=turns, at=at) for report in reports]
        if turns:
            self._written.reported(reports)
        elif (at or now) >= self.identity.started_at:
            self._written.wrote(reports)
        if any(changed):
            self._announce("the agent")
        self._report.settle()
        self._overrun.set(self.lock.deadline)
        self._turns.heard(reports)

    def fell_silent(self, *, interrupted: bool) -> None:
        """End a turn of which no end was reported. A later report of work continues it."""
        self._break_off(CardState.DECLINED if interrupted else CardState.DONE, "quiet")

    @property
    def reports_turns(self) -> bool:
        """True where something reports its turns, or has done so."""
        return self._status.reports_turns or self._status.has_reported

    def shows(self, *, active: bool) -> None:
        """Take whether its terminal shows output for what it does: nothing else is known."""
        self._report.shows(active=active)
        self._tell()

    def ended(self, failure: str = "") -> None:
        """Mark the agent as stopped: its process is gone. `failure` says why, if nobody wanted
        that."""
        self._turns.cancel()
        self._overrun.cancel()
        self._written.cancel()
        if self.lock.stopped():
            self._report.left("" if self.stopping else failure)
            for card in self.cards.all():
                if card.state in (CardState.PENDING, CardState.RUNNING):
                    self.cards.put(Draft(card.id, card.kind, CardState.DECLINED), timestamp())
            self._announce("ended")
            self._context.on_end(self)

    # What people do.

    async def pause(self) -> None:
        """Stop the agent's processes (SIGSTOP). Typing is refused before the first one stops."""
        self._check_not_ended()
        if not self.lock.paused():
            return
        self._announce("paused")
        await self._process.signal(signal.SIGSTOP, tree=True)

    async def resume(self) -> None:
        """Continue the agent's processes (SIGCONT)."""
        self._check_not_ended()
        await self._process.signal(signal.SIGCONT, tree=True)
        if self.lock.resumed():
            self._announce("resumed")

    def prompted(self, words: str) -> None:
        """Report that it was started with a prompt: it works on that until it reports its turn. The
        lock follows the turn alone."""
        if self._status.reports_turns:
            self._report.prompted(words)
            self._tell()

    def take(self) -> None:
        """Mark the agent as working, as a person reports. Where its turns are reported, the mark
        ends by itself unless a report confirms it."""
        self._check_not_ended()
        if self._status.reports_turns:
            self._assume_working("started")
        elif self._begin_turn(timestamp()):
            self._announce("started")

    def give(self) -> None:
        """Mark the agent as waiting, as a person reports."""
        self._check_not_ended()
        self._report.ended(CardState.DONE)
        if self.lock.ended():
            self._announce("yielded")

    def unlock(self) -> None:
        """Let the owner type on while the agent works, from now on."""
        self._check_not_ended()
        if self.lock.loosened():
            self._announce("unlocked")

    async def stop(self, gaps: Gaps) -> None:
        """End the agent's whole process tree, with gentle signals first. Returns when no process is
        left. A second call waits for the first."""
        if self._stopping is not None:
            await asyncio.shield(self._stopping)
            return
        self._stopping = asyncio.get_running_loop().create_future()
        try:
            await stop(self._process, gaps)
            self.ended()
        finally:
            self._stopping.set_result(None)
            self._stopping = None

    async def ask(self, words: str) -> None:
        """Send the agent a prompt. Raises `Conflict` with the lock's reason."""
        self._check_not_ended()
        refusal = self.lock.refusal
        if refusal is not None:
            raise Conflict(REASONS[refusal], code=refusal)
        self.apply(await self._channel.ask(words))
        if self._status.reports_turns:
            self._assume_working("asked")

    async def interrupt(self) -> None:
        """Interrupt the agent's turn. The lock opens, and later reports of that turn do not close
        it."""
        self._check_not_ended()
        if self.lock.state is AgentState.PAUSED:
            raise Conflict(REASONS[LockReason.PAUSED], code=LockReason.PAUSED)
        step = await self._channel.interrupt()
        if step is None:
            raise Conflict("this agent has no way to be interrupted: pause or stop it")
        self.apply(step)
        self._report.ended(CardState.DECLINED)
        if self.lock.ended():
            self._announce("interrupted")
        self._tell()

    def card(self, card_id: str) -> Card:
        """Return one card. Raises `NotFound`."""
        card = self.cards.get(card_id)
        if card is None:
            raise NotFound(f"there is no card {card_id[:80]} here", code="no_such_card")
        return card

    async def answer(self, card_id: str, option: str | None, words: str | None) -> Card:
        """Answer a pending card; its next revision. Raises `NotFound`, `Conflict`, `Invalid`."""
        self._check_not_ended()
        card = self.card(card_id)
        if card.state is not CardState.PENDING:
            raise Conflict(f"the card {card_id[:80]} waits for nothing", code="not_pending")
        if card.data.get("answerable") is not True:
            raise Conflict(
                "this question can be answered at the agent's terminal only", code="not_answerable"
            )
        self.apply(await self._channel.answer(card, option, words))
        return self.cards.get(card_id) or card

    async def change(self, name: SettingName, value: str, *, by: str) -> None:
        """Change the model or the permission mode; returns once the agent has accepted that.
        Raises `Invalid`, `Conflict`."""
        self._check_not_ended()
        if self.lock.state is AgentState.PAUSED:
            raise Conflict(REASONS[LockReason.PAUSED], code=LockReason.PAUSED)
        with self.settings.changing(name, value) as settled:
            self.apply(await self._channel.change(name, value))
            await settled
        self._write("agent.changed", {"setting": name, "value": value, "by": by})

    def follow(self, tap: Tap) -> None:
        """Give every later message of the agent to one follower. Raises `Conflict`, `Invalid`."""
        self._check_not_ended()
        self._channel.follow(tap)
        self._led = True

    async def request(self, key: str, method: str, params: Message, *, trace: str = "") -> Step:
        """Send a request in the agent's own protocol. Raises `Invalid`, `Conflict`."""
        self._check_not_ended()
        if self.lock.state is AgentState.PAUSED:
            raise Conflict(REASONS[LockReason.PAUSED], code=LockReason.PAUSED)
        step = await self._channel.request(key, method, params, trace=trace)
        self.apply(step)
        return step

    def put(self, draft: Draft) -> None:
        """Add a card from another source than the agent itself: shell marks, a screen."""
        if self._put(draft, timestamp()):
            self._tell()

    def _take(self, report: AgentReport, now: str, *, turns: bool, at: str | None) -> bool:
        match report:
            case Draft():
                return self._put(report, at or now)
            case Began():
                return turns and self._begin_turn(now)
            case Worked():
                return turns and self._note_work()
            case Yielded():
                return turns and self.lock.yielded()
            case Ended():
                self._turns.ended(now, report.state)
                self._report.ended(report.state)
                return self.lock.ended()
            case Interrupted():  # pragma: no branch - the cases are all
                # An interrupt from before the running turn was read late: ignore it.
                if at is not None and at < self._began_at:
                    return False
                self._report.ended(CardState.DECLINED)
                return self.lock.ended()

    def _put(self, draft: Draft, at: str) -> bool:
        card = self.cards.put(draft, at)
        if card is None:
            return False
        if card.at >= self.identity.started_at:
            self._report_card(card)
        if card.rev == 1 and card.kind in _TOOLS and at >= self.identity.started_at:
            # An agent that resumes a conversation reads earlier cards again.
            self._write("agent.tool", {"card": card.id, "card_kind": card.kind})
        if draft.text and card.kind in _PREVIEWED and card.data.get("role") != "person":
            for preview in previews(card.text):
                self.cards.put(preview, at)
        return True

    def _report_card(self, card: Card) -> None:
        """Report what a card says about the agent; those of an earlier conversation do not."""
        self._report.saw(card)
        if card.kind is CardKind.TURN and card.state in OVER:
            self._report.ended(card.state)

    def _note_work(self) -> bool:
        """Record that the agent works. Returns whether that is a change."""
        changed = self.lock.worked(asyncio.get_running_loop().time())
        if changed:
            self._report.began()
        return changed

    def _over_by_record(self, state: CardState) -> None:
        if self.works:
            self._break_off(state, "its record")

    def _break_off(self, state: CardState, reason: str) -> None:
        self._report.ended(state)
        if self.lock.yielded():
            self._announce(reason)

    def _begin_turn(self, now: str) -> bool:
        """Begin a turn. Returns whether that changed what the agent does."""
        self._report.began()
        if not self.lock.began():
            return False
        self._began_at = now
        self._context.on_turn(self.identity.id, self.identity.name)
        return True

    def _assume_working(self, reason: str) -> None:
        """Assume that the agent works: a report of its prompt is on its way."""
        if self.lock.supposed(asyncio.get_running_loop().time()):
            self._context.on_turn(self.identity.id, self.identity.name)
            self._announce(reason)
        self._overrun.set(self.lock.deadline)

    def _tick(self) -> None:
        if self.lock.tick(asyncio.get_running_loop().time()):
            self._announce("no prompt")
        self._overrun.set(self.lock.deadline)

    def _close(self, overdue: Sequence[Draft]) -> None:
        for draft in overdue:
            self._put(draft, timestamp())
        self._tell()

    def _announce(self, reason: str) -> None:
        """Report the lock if it changed since the last report, and the cards."""
        state = self._status.message()
        before = self._announced
        if state != before:
            self._announced = state
            if before is not None and before.turn == Work.WORKING != state.turn:
                self._context.count(self.identity.id, self._report_changes)
            for observer in self._observers:
                observer.changed(state)
            turn = {"agent_state": state.agent_state, "turn": state.turn, "why": reason}
            self._write("agent.state", turn)
        self._tell()

    def recount(self) -> None:
        """Count anew what was counted at the end of a turn: something else may have changed it."""
        if self._report.has_counts:
            self._context.count(self.identity.id, self._report_changes)

    def _report_changes(self, commits: int, plus: int, minus: int) -> None:
        """Report what the agent changed so far."""
        self._report.counted(commits, plus, minus)
        self._tell()

    def _write(self, kind: str, fields: Mapping[str, object]) -> None:
        missed = self._budget.take(asyncio.get_running_loop().time())
        if missed is None:
            return
        entry: dict[str, object] = {
            "id": self.identity.id,
            "agent": self.identity.name,
            **fields,
        }
        self._context.record(kind, {**entry, "unrecorded": missed} if missed else entry)

    def _tell(self) -> None:
        self._report.settle()
        for listener in tuple(self.listeners):
            listener()

    def _check_not_ended(self) -> None:
        """Raise `Conflict` when the agent has ended."""
        if self.lock.state is AgentState.STOPPED:
            raise Conflict(
                f"the agent {self.identity.name} has ended; start it again", code="agent_stopped"
            )


def forbid_viewers(role: str) -> None:
    """Reject a viewer's request to control an agent. Raises `Forbidden`."""
    if role == "viewer":
        raise Forbidden("you may watch this agent, not control it", code="viewer")
