"""A conversation on a person's own machine, taken to their terminal there and given back: the real
lane and the real commands, on a real pty."""

import asyncio
import os
import subprocess

import pytest

from atoll.client import Atoll
from atoll.domain.errors import Conflict
from atoll.testing.server import TestServer, atoll_command
from tests.e2e.workers.desktop_machine import Machine, machine, ticking, until
from tests.surfaces.cli.commands.terminals.test_attach import person_tty

pytestmark = pytest.mark.timeout(300)


async def test_person_takes_a_conversation_at_their_machine_and_gives_it_back(
    server: TestServer,
) -> None:
    async with Atoll(server.url, server.token) as atoll:
        await atoll.desktops.link("own")
        async with machine(server, "own") as desk:
            await ticking(atoll, desk, "mine", execution_mode="desktop")
            await atoll.workers.result("mine", "thread/start", {})

            async def spoke() -> bool:
                return [one.thread_id for one in (await atoll.workers.get("mine")).threads] != []

            await until(spoke, 20)
            with pytest.raises(Conflict) as elsewhere:
                await atoll.workers.take("mine")
            assert elsewhere.value.code == "on_desktop"
            with person_tty(desk.env, "worker", "take", "mine") as person:
                await asyncio.to_thread(person.expect, b"resumed th in workspace")
                before = desk.ticks("mine")
                person.type(b"hello\n")
                await asyncio.to_thread(person.expect, b"you said hello")
                assert desk.ticks("mine") == before  # the machine has ended
                with pytest.raises(Conflict) as held:
                    await atoll.workers.result("mine", "thread/list", {})
                assert held.value.code == "held_by_person"
                given = await asyncio.to_thread(_give_back, desk)
                assert "mine takes requests again" in given
                await atoll.workers.result("mine", "thread/list", {})
                assert not (desk.place("mine") / "terminal.json").exists()
                await asyncio.to_thread(person.ends)
                assert person.restored
            kinds = [one.event_type for one in await atoll.workers.events("mine")]
            assert kinds.count("worker.handed_over") == 2 and "worker.lost" not in kinds
            await atoll.workers.stop("mine")
        await atoll.desktops.unlink("own")


def _give_back(desk: Machine) -> str:
    ran = subprocess.run(
        [atoll_command(), "worker", "give-back", "mine"],
        env={**os.environ, **desk.env},
        capture_output=True,
        timeout=60,
        check=True,
    )
    return ran.stdout.decode()
