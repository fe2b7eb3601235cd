"""An agent at a terminal: spoken to by typing, watched by its hooks and its transcript.

Hooks tell of turns (`domain.agents.hooks`): the agent runs a command that writes to a pipe
inside, which is read here. They also name the transcript, which is followed for cards. Both
are read by programs inside: nothing here opens a path that something inside has named.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from atoll.domain.agents.agent import plain_prompt
from atoll.domain.agents.card import AgentReport, Card, CardState, Draft
from atoll.domain.agents.codex.files import CodexRolloutCards
from atoll.domain.agents.codex.server_questions import CONNECT_SCRIPT, SOCKET_SUFFIX
from atoll.domain.agents.conversation import Step, unsupported_error
from atoll.domain.agents.held_hooks import RELAY_SCRIPT, read_sign
from atoll.domain.agents.hooks import HookReport, Hooks
from atoll.domain.agents.lenient_json import Message
from atoll.domain.agents.readers import HELD_QUESTIONS, TRANSCRIPTS
from atoll.domain.agents.settings import SettingName
from atoll.domain.errors import AtollError, Conflict, Invalid
from atoll.domain.terminals.draft import DraftLength
from atoll.domain.wall.own_environment import own_environment
from atoll.ports.runtime_boot import WatchFile
from atoll.ports.spawner import Spawner
from atoll.runtime.agents.lines import Program, run_program
from atoll.runtime.agents.neighbours import Tap
from atoll.runtime.agents.questions.held import HeldHooks
from atoll.runtime.agents.questions.on_screen import ScreenQuestions
from atoll.runtime.agents.questions.shared_server import SharedServer
from atoll.runtime.agents.questions.waiting import TerminalQuestions
from atoll.runtime.agents.session import AgentSession
from atoll.runtime.agents.status import AgentStatus
from atoll.runtime.terminals.observer import Author
from atoll.runtime.terminals.pty_process import PtyProcess
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.terminal.query import is_reply

log = logging.getLogger("atoll.runtime")

QUIET_SECONDS = 0.3
"""A TUI that has drawn nothing for so long has taken what it was given."""
PATIENCE_SECONDS = 2.5
"""The longest wait for that: some always draw."""
HEARD_SECONDS = 1.5
REPORT_SECONDS = 3.0
"""The time in which a turn that began is reported, on a busy machine."""
FIRST_REPORT_SECONDS = 10.0
"""The same for an agent that has reported nothing yet: it may still be starting."""
ENTERS = 3
"""Presses of Enter at most: one without effect in time was lost, and is repeated."""
READY_SECONDS = 30.0
"""The longest wait for an agent that just starts to read keys: it is asked all the same then."""
COMMANDS = ("/", "!", "#")
"""First characters of a prompt to the TUI itself. It begins no turn, and a further Enter could
choose something that it offers."""
ESCAPE, ENTER = b"\x1b", b"\r"
PASTE, PASTED = b"\x1b[200~", b"\x1b[201~"
BRACKETED_PASTE = 2004
SWITCH_SECONDS = 1.0
"""A hook may name another transcript at most this often."""
REPORT_PIPE_SECONDS = 5.0
FORGET_SECONDS = 2.0
MAX_PROMPT = 64 * 1024
_REPORT_PIPE_SCRIPT = """
umask 077; pipe=$1; shift
while [ $# -gt 1 ]; do printf %s "$2" >"$pipe$1" || exit; shift 2; done
mkfifo "$pipe" && echo && exec cat <>"$pipe"
"""
_LISTS = ".jsonl"
"""Suffix of the file that an agent without a transcript writes, beside its report pipe."""
AGENT = Author("agent", "agent", "agent")
"""The author of prompts that Atoll types."""


def report_pipe_path(terminal_id: str) -> str:
    """Return the pipe inside that the hooks of this terminal write to."""
    return f"/tmp/.atoll-{terminal_id}"  # noqa: S108  # inside the sandbox


class TuiChannel:
    """An `AgentChannel` that pastes prompts and interrupts by Escape. `questions` are those that it
    answers; people answer the others at the terminal."""

    def __init__(
        self, pty: PtyProcess, status: AgentStatus, questions: TerminalQuestions | None = None
    ) -> None:
        self._pty = pty
        self._status = status
        self._questions = questions or TerminalQuestions()
        self._drawn = asyncio.Event()
        self._working = asyncio.Event()
        self._line = DraftLength()

    def drew(self) -> None:
        """Note that the agent has drawn something."""
        self._drawn.set()

    def works(self) -> None:
        """Note that the agent's turn has begun."""
        self._working.set()

    def typed(self, keys: bytes) -> None:
        """Record what a person typed at the agent's input line. An emulator's answer is no text."""
        if not is_reply(keys):
            self._line.typed(keys)

    async def ask(self, words: str) -> Step:
        """Paste the prompt and press Enter, each once the agent is ready for it: one that comes
        too early is lost, and one that comes with a paste is part of it. What could act as
        keys is left out of the prompt. Raises `Conflict` on a half-typed line: both would be
        submitted as one."""
        self._check_line()
        if not self._pty.scrollback.end:
            await self._draws(PATIENCE_SECONDS)
        await self._wait_until_quiet()
        self._check_line()
        plain = plain_prompt(words)[:MAX_PROMPT]
        modes = self._pty.scrollback.modes
        if BRACKETED_PASTE in modes.private:
            typed = PASTE + plain.encode() + PASTED
        else:
            typed = plain.replace("\n", " ").encode()
        self._type(typed)
        await self._draws(PATIENCE_SECONDS)
        await self._wait_until_quiet()
        await self._submit(reported=not plain.startswith(COMMANDS))
        return Step()

    async def reads_keys(self) -> None:
        """Wait until a starting agent has its input line: programs with one turn bracketed paste
        on. What is typed before is cut to one line by the terminal, and may be lost."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(READY_SECONDS):
                while BRACKETED_PASTE not in self._pty.scrollback.modes.private:
                    self._drawn.clear()
                    await self._drawn.wait()

    async def interrupt(self) -> Step | None:
        """Press Escape."""
        self._type(ESCAPE)
        return Step()

    async def answer(self, card: Card, option: str | None, words: str | None) -> Step:
        """Answer a question that waits for that elsewhere than at the terminal, too."""
        return await self._questions.answer(card, option, words)

    async def change(self, name: SettingName, value: str) -> Step:
        """Refuse to change a setting: people do that at the terminal."""
        raise Conflict(f"change the {name} at the agent's terminal: {value} was not set")

    async def request(self, key: str, method: str, params: Message, *, trace: str = "") -> Step:
        """Refuse a request: an agent at a terminal serves none."""
        del key, params, trace
        raise unsupported_error(method)

    def follow(self, tap: Tap) -> None:
        """Refuse a follower: an agent at a terminal sends no messages."""
        del tap
        raise Invalid("an agent at a terminal serves no worker: use mode machine", field="agent_id")

    async def _submit(self, *, reported: bool) -> None:
        """Press Enter until it has an effect, and not once somebody else types."""
        for _ in range(ENTERS):
            self._working.clear()
            self._drawn.clear()
            self._type(ENTER)
            heard = await self._wait_for_enter(reported=reported)
            if heard or self._status.lock.refusal or self._line.characters:
                return

    async def _wait_for_enter(self, *, reported: bool) -> bool:
        """Report whether the Enter arrived. With `reported`, wait for a turn of an agent that
        reports turns: it may draw a prompt that it read late, with the Enter as a part of it."""
        status = self._status
        if not (reported and status.reports_turns):
            return await self._draws(HEARD_SECONDS)
        seconds = REPORT_SECONDS if status.has_reported else FIRST_REPORT_SECONDS
        if await _wait_for_event(seconds, self._working):
            return True
        return not status.has_reported and self._drawn.is_set()

    def _check_line(self) -> None:
        if self._line.characters:
            raise Conflict(
                "somebody has typed something here and not sent it: send it or clear it first "
                "(Ctrl-U), or wait until that is done",
                code="draft",
            )

    async def _wait_until_quiet(self) -> None:
        """Wait until the agent draws nothing more."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                while await self._draws(QUIET_SECONDS):
                    pass

    async def _draws(self, seconds: float) -> bool:
        """Return whether it draws something within this time."""
        self._drawn.clear()
        return await _wait_for_event(seconds, self._drawn)

    def _type(self, data: bytes) -> None:
        if not self._pty.type(AGENT, data):
            raise Conflict("the agent's terminal takes no input now", code="input_full")


async def _wait_for_event(seconds: float, event: asyncio.Event) -> bool:
    """Wait for the event. Returns whether it was set within this time."""
    loop = asyncio.get_running_loop()
    timer = loop.call_later(seconds, event.set)
    due = timer.when()
    try:
        await event.wait()
    finally:
        timer.cancel()
    return loop.time() < due


@dataclass(frozen=True, slots=True)
class WatchSources:
    """The sources of reports on an agent: its report pipe, the reader of its transcript, the files
    of its hooks, the reader of the questions that they wait with, and its server. `menus`: its
    questions are read from its screen."""

    pipe: str
    reader: str = ""
    files: tuple[WatchFile, ...] = ()
    held: str = ""
    server: str = ""
    menus: bool = False


class AgentWatch:
    """Reader of one agent's hooks and transcript, until it is cancelled.

    It listens before the agent starts. Reports wait for `session`."""

    def __init__(
        self,
        spawner: Spawner,
        program: Program,
        means: WatchSources,
        *,
        session: asyncio.Future[AgentSession],
        questions: TerminalQuestions,
    ) -> None:
        self._pipe = means.pipe
        self._session = session
        self._spawner = spawner
        self._program = program
        self._means = means
        self._hooks = Hooks()
        reader = HELD_QUESTIONS.get(means.held)
        self._held = (
            None
            if reader is None
            else HeldHooks(spawner, self._relay, reader(), questions=questions, session=session)
        )
        self._server = (
            SharedServer(
                spawner,
                self._run("sh", "-c", CONNECT_SCRIPT, "sh", means.pipe + SOCKET_SUFFIX),
                questions=questions,
                session=session,
            )
            if means.server
            else None
        )
        self._screen = ScreenQuestions(questions, session, AGENT) if means.menus else None
        self._path = asyncio.Queue[str](1)
        self._named = ""
        self._switched = -SWITCH_SECONDS
        self._conversed = -SWITCH_SECONDS
        self.listening = asyncio.Event()

    def watch_screen(self, pty: PtyProcess) -> None:
        """Read the questions of an agent that shows them on its screen only."""
        if self._screen is not None:
            self._screen.watch(pty)

    async def run(self) -> None:
        """Listen and follow. An image without the few programs this takes is not watched."""
        try:
            async with asyncio.TaskGroup() as group:
                followers = [group.create_task(self._follow())]
                if self._server is not None:
                    followers.append(group.create_task(self._server.run()))
                await self._listen(group)
                for follower in followers:
                    follower.cancel()
                if self._held is not None:
                    self._held.release()
        except* AtollError as errors:
            log.warning("%s: the agent is not watched: %s", self._pipe, errors.exceptions)
        finally:
            self.listening.set()
            await self._remove_files()

    async def _remove_files(self) -> None:
        """Remove the pipe, as far as there still is anybody to do it."""
        with contextlib.suppress(AtollError, TimeoutError):
            async with asyncio.timeout(FORGET_SECONDS):
                beside = [self._pipe + file.suffix for file in self._means.files]
                gone = self._run("rm", "-f", self._pipe, self._pipe + _LISTS, *beside)
                async with run_program(self._spawner, gone) as removal:
                    await removal.process.wait()

    async def _listen(self, group: asyncio.TaskGroup) -> None:
        files = [
            word
            for file in self._means.files
            for word in (file.suffix, file.content.replace("{report_pipe}", self._pipe))
        ]
        listener = self._run("sh", "-c", _REPORT_PIPE_SCRIPT, "sh", self._pipe, *files)
        async with run_program(self._spawner, listener) as reports:
            async for line in reports.read_lines():
                self.listening.set()
                session = await self._session
                self._read_report(session, line.decode("utf-8", "replace"), group)

    def _read_report(self, session: AgentSession, line: str, group: asyncio.TaskGroup) -> None:
        sign = None if self._held is None else read_sign(line)
        if self._held is not None and sign is not None:
            self._held.signed(sign, group)
            return
        heard = self._hooks.read(line)
        if heard is None:
            return
        self._take(session, heard)
        if self._held is not None:
            self._held.heard(heard.event, line)
        if self._server is not None:
            self._server.look()
        if self._screen is not None:
            self._screen.heard(heard)

    def _take(self, session: AgentSession, heard: HookReport) -> None:
        session.reported(heard.said)
        now = asyncio.get_running_loop().time()
        self._converse(session, heard.conversation, now)
        named = heard.transcript
        if named is None or named == self._named or now < self._switched + SWITCH_SECONDS:
            return
        self._named, self._switched = named, now
        if self._path.full():
            self._path.get_nowait()
        self._path.put_nowait(named)

    def _converse(self, session: AgentSession, conversation: str | None, now: float) -> None:
        """Pass on the conversation the hooks name. Limited in rate, since every hook names it."""
        if conversation is None or now < self._conversed + SWITCH_SECONDS:
            return
        self._conversed = now
        session.converses(conversation)

    async def _follow(self) -> None:
        """Follow the transcript the hooks named last."""
        path = await self._path.get()
        while True:
            async with asyncio.TaskGroup() as group:
                reading = group.create_task(self._read(path))
                path = await self._path.get()
                reading.cancel()

    async def _read(self, path: str) -> None:
        session = await self._session
        cards = TRANSCRIPTS.get(self._means.reader, CodexRolloutCards)()
        tail = self._run("tail", "-n", "+1", "-F", "--", path)
        async with run_program(self._spawner, tail) as transcript:
            async for line in transcript.read_lines():
                try:
                    message = msgspec.json.decode(line)
                except UNREADABLE:
                    continue
                if isinstance(message, dict):
                    stamp = message.get("timestamp")
                    at = stamp if isinstance(stamp, str) and len(stamp) < 40 else None
                    session.heard(self._record(cards.take(message)), turns=False, at=at)

    def _record(self, reports: Sequence[AgentReport]) -> Sequence[AgentReport]:
        """Return what a transcript says. Where hooks wait with questions, the record of one asks
        nobody: it is read late, also after the answer."""
        if self._held is None and self._server is None and self._screen is None:
            return reports
        return [
            replace(report, state=CardState.RUNNING)
            if isinstance(report, Draft) and report.state is CardState.PENDING
            else report
            for report in reports
        ]

    def _relay(self, name: str) -> Program:
        return self._run("sh", "-c", RELAY_SCRIPT, "sh", f"{self._pipe}.{name}")

    def _run(self, *argv: str) -> Program:
        env = own_environment(dict(self._program.env))
        return Program(argv, tuple(env.items()), "/")
