"""Finding the conversation that a person named: the agent itself says whether it knows it.

A machine is asked in its own protocol. At a terminal, an agent that does not know a conversation
prints why and ends, and one that does reads keys.
"""

import asyncio
from typing import Final

from atoll.domain.errors import Conflict, Invalid
from atoll.domain.workers.methods import lookup_method
from atoll.runtime.agents.machine import MachineChannel
from atoll.runtime.agents.session import AgentSession
from atoll.runtime.agents.stopping import Gaps
from atoll.runtime.agents.tui import TuiChannel
from atoll.runtime.terminals.terminal import Terminal
from atoll.wire.terminal.plain import PlainLines

ANSWER_SECONDS: Final = 30.0
"""The time that a machine has to answer; one that does not is believed."""
BEGIN_SECONDS: Final = 5.0
"""The time in which an agent at a terminal ends when it does not know a conversation."""
LAST_BYTES: Final = 4096
"""The bytes of a terminal in which its last words are looked for."""
_KEY: Final = "atoll-conversation"


async def find_by_machine(session: AgentSession, channel: MachineChannel, thread: str) -> None:
    """Ask an agent that was just started for a conversation; one that does not know it is ended.
    Raises `Invalid`, field `conversation`."""
    name = session.identity.name
    with channel.awaiting(_KEY) as answer:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await session.request(_KEY, lookup_method(name), {"threadId": thread})
                reply = await answer
        except TimeoutError:
            return
        except (Conflict, Invalid) as error:
            why: object = error.message
        else:
            if reply.error is None:
                return
            why = reply.error.get("message")
    await session.stop(Gaps())
    raise unknown_conversation(name, thread, str(why))


async def find_at_terminal(name: str, channel: TuiChannel, terminal: Terminal, thread: str) -> None:
    """Wait until an agent at a terminal reads keys, or ends instead. Raises `Invalid`, field
    `conversation`, with its last words."""
    async with asyncio.TaskGroup() as tasks:
        ended = tasks.create_task(terminal.pty.wait())
        begun = tasks.create_task(channel.reads_keys())
        await asyncio.wait(
            {ended, begun}, timeout=BEGIN_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        over = ended.done()
        ended.cancel()
        begun.cancel()
    if over:
        raise unknown_conversation(name, thread, _read_last_line(terminal) or "it ended")


def _read_last_line(terminal: Terminal) -> str:
    """Return the last line that says something on a terminal, empty for none."""
    scrollback = terminal.scrollback
    begin = max(scrollback.first_cut().offset, scrollback.ready - LAST_BYTES)
    lines = PlainLines(begin, alternate=False)
    lines_read = [*lines.feed(scrollback.read(begin, scrollback.ready - begin)), *lines.finish()]
    return next((line.text.strip() for line in reversed(lines_read) if line.text.strip()), "")


def unknown_conversation(name: str, thread: str, why: str) -> Invalid:
    """Return the refusal of a conversation that an agent does not know."""
    return Invalid(f"{name} knows no conversation {thread}: {why}", field="conversation")
