"""Frames on connections that were handed over: in order, exact, and bounded whatever comes."""

import asyncio
import json
import random

import pytest

from atoll.runtime.terminals.viewers.socket_link import SocketLink
from tests.runtime.handovers import WHO, Wire, handed_over
from tests.runtime.stage import runtime

SEQ = b"".join(b"%d\r\n" % n for n in range(1, 240_001))
FLOOD = "import os\nwhile True: os.write(1, b'x' * 65536)"


def other(client: str) -> tuple[tuple[str, str], ...]:
    return (*WHO[:3], ("client", client))


def masked(kind: int, payload: bytes) -> bytes:
    return bytes((0x80 | kind, 0x80 | len(payload))) + b"\0\0\0\0" + payload


async def test_many_frames_in_one_packet_are_typed_in_their_order() -> None:
    keys = b"".join(b"%d," % n for n in range(700))
    async with runtime() as rt, handed_over(rt, await rt.open("cat")) as (wire, _):
        packet = b"".join(masked(2, keys[at : at + 1]) for at in range(len(keys)))
        await asyncio.get_running_loop().sock_sendall(wire.end, packet + masked(2, b"\n"))
        await wire.sees(keys + b"\r\n" + keys)


async def test_pings_of_a_client_that_reads_nothing_wait_as_one() -> None:
    async with runtime() as rt:
        terminal = await rt.open("python3", "-c", FLOOD)
        async with handed_over(rt, terminal, other("deaf")) as (wire, _):
            viewer = rt.terminals.get(terminal).audience.find("deaf")
            assert viewer is not None
            link = viewer.link
            assert isinstance(link, SocketLink)
            async with handed_over(rt, terminal, other("reader")) as (reader, _):
                while link.roomy:
                    assert (await reader.frame())[0] >= 0
                waiting = len(link._unsent)
                heard = link.received_at
                pings = b"".join(masked(9, b"%04d" % n) for n in range(1000))
                await asyncio.get_running_loop().sock_sendall(wire.end, pings)
                while link._pong != b"0999":
                    assert (await reader.frame())[0] >= 0
            assert len(link._unsent) <= waiting
            assert link.received_at >= heard


class Patient:
    """A client that reads `pace` bytes at a time, and what it has seen by offset."""

    def __init__(self, wire: Wire, pace: int, chance: random.Random) -> None:
        self.wire, self.pace, self.chance = wire, pace, chance
        self.offset, self.lost, self.end = 0, 0, -1

    async def follow(self, expected: bytes) -> None:
        """Read to the end; every byte must be the one at its offset."""
        loop = asyncio.get_running_loop()
        while self.end < 0:
            kind, payload = await self._frame(loop)
            assert kind in (1, 2)
            if kind == 2:
                assert expected[self.offset : self.offset + len(payload)] == payload
                self.offset += len(payload)
                continue
            said = json.loads(payload)
            if said["type"] == "resync":
                assert said["from"] == self.offset
                self.lost += said["to"] - self.offset
                self.offset = said["to"]
            self.end = said["offset"] if said["type"] == "exit" else -1

    async def _frame(self, loop: asyncio.AbstractEventLoop) -> tuple[int, bytes]:
        while len(self.wire.rest) < sum(self.wire._size()):
            more = await loop.sock_recv(self.wire.end, self.chance.randint(1, self.pace))
            assert more, "it hung up"
            self.wire.rest += more
            # Whoever reads little at a time reads little in a turn of the loop, too.
            await asyncio.sleep(0)
        return await self.wire.frame()


@pytest.mark.parametrize("seed", range(3))
async def test_slow_and_fast_clients_of_one_flood_see_no_wrong_byte(seed: int) -> None:
    chance = random.Random(seed)
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "read go; seq 1 240000", ring_bytes=65536)
        paces = {"driver": 1 << 20, "slow": 700, "slower": 300, "fast": 1 << 16}
        async with (
            handed_over(rt, terminal, other("driver")) as (one, _),
            handed_over(rt, terminal, other("slow")) as (two, _),
            handed_over(rt, terminal, other("slower")) as (three, _),
            handed_over(rt, terminal, other("fast")) as (four, _),
        ):
            wires = (one, two, three, four)
            clients = [
                Patient(wire, pace, chance)
                for wire, pace in zip(wires, paces.values(), strict=True)
            ]
            await one.send(0x82, b"\n")
            async with asyncio.TaskGroup() as group:
                for client in clients:
                    group.create_task(client.follow(b"\r\n" + SEQ))
            assert {client.end for client in clients} == {2 + len(SEQ)}
            assert {client.offset for client in clients} == {2 + len(SEQ)}
            assert clients[2].lost > 0
