"""Reading files inside by a small program whose JSON lines a conversation takes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import msgspec

from atoll.domain.agents.lenient_json import Message
from atoll.domain.errors import Unavailable
from atoll.ports.spawner import Spawner
from atoll.runtime.agents.lines import Program, run_program
from atoll.wire.http.unreadable import UNREADABLE

LOOK_SECONDS = 20.0
MAX_BYTES = 16 * 1024 * 1024
"""The bytes read of one program's output; the rest is left out."""


async def look_inside(spawner: Spawner, agent: Program, argv: tuple[str, ...]) -> Sequence[Message]:
    """Run a program as the agent runs, and return the JSON objects among its lines. Raises
    `Unavailable`, and what the spawner raises."""
    try:
        async with (
            asyncio.timeout(LOOK_SECONDS),
            run_program(spawner, replace(agent, argv=argv)) as program,
        ):
            return [message async for message in _objects(program.read_lines())]
    except TimeoutError as error:
        raise Unavailable(
            "the agent's files could not be read in time: try again", code="worker_unavailable"
        ) from error


async def _objects(read: AsyncIterator[bytes]) -> AsyncIterator[Message]:
    left = MAX_BYTES
    async for line in read:
        left -= len(line)
        if left < 0:
            return
        try:
            message = msgspec.json.decode(line)
        except UNREADABLE:
            continue
        if isinstance(message, dict):
            yield message
