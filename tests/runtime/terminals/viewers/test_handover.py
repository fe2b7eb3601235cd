"""A client's own connection at a terminal: handed over, watched, and let go."""

import asyncio
import json
import os
import socket
from pathlib import Path

import pytest

from atoll.adapters.runtimes.unix_handover import unix_handover_link
from atoll.domain.terminals.contact import AWAY_SECONDS
from tests.runtime.handovers import WHO, handed_over
from tests.runtime.stage import runtime

FLOOD = "import os\nfor _ in range(40): os.write(1, b'x' * 65536)\nos.write(1, b'OVER')\ninput()"


async def test_handed_client_types_reads_and_is_who_the_control_plane_says() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with handed_over(rt, terminal) as (wire, _):
            kind, start = await wire.frame()
            assert (kind, json.loads(start)["driver"]) == (1, "a")
            await wire.send(0x82, b"hello\n")
            await wire.sees(b"hello\r\nhello\r\n")
            await wire.send(0x89, b"there?")
            while (found := await wire.frame())[0] != 10:
                assert found[0] >= 0
            assert found[1] == b"there?"
            _, shown = await rt.call("GET", f"/sessions/{terminal}")
            assert (shown["viewers"], shown["driver"]) == (1, "a")


async def test_handed_client_of_an_ended_terminal_gets_its_end_and_the_link_is_let_go() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "read x; echo bye")
        async with handed_over(rt, terminal) as (wire, link):
            await wire.send(0x82, b"\n")
            assert await wire.closed() == 1000
            await wire.send(0x88, b"\x03\xe8")
            await link.ended()


async def test_client_that_leaves_ends_its_link_and_its_session() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with handed_over(rt, terminal) as (wire, link):
            await wire.frame()
            wire.end.shutdown(socket.SHUT_RDWR)
            await link.ended()
            _, shown = await rt.call("GET", f"/sessions/{terminal}")
            assert shown["viewers"] == 0


async def test_word_on_the_link_closes_the_client_with_its_code() -> None:
    async with runtime() as rt, handed_over(rt, await rt.open("cat")) as (wire, link):
        await wire.frame()
        link.close_client(4401, "logged out")
        assert await wire.closed() == 4401


async def test_client_whose_control_plane_is_gone_is_told_to_come_back() -> None:
    async with runtime() as rt, handed_over(rt, await rt.open("cat")) as (wire, link):
        await wire.frame()
        link.disconnect()
        assert await wire.closed() == 1013


async def test_driver_whose_control_plane_is_gone_is_waited_for_though_it_never_asked() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        control = rt.terminals.get(terminal).control
        async with handed_over(rt, terminal) as (wire, link):
            await wire.frame()
            assert control.held_until(1.0) is None
            link.disconnect()
            assert await wire.closed() == 1013
        assert control.held_until(1.0) == 1.0 + AWAY_SECONDS


async def test_client_that_reads_nothing_is_gone_soon_after_the_word() -> None:
    async with runtime() as rt:
        terminal = await rt.open("python3", "-c", FLOOD)
        deaf = (*WHO[:3], ("client", "deaf"))
        async with (
            rt.attach(terminal, client="b") as reader,
            handed_over(rt, terminal, deaf) as (_, link),
        ):
            await reader.until_bytes(b"OVER")
            link.close_client(4401, "logged out")
            async with asyncio.timeout(5):
                await link.ended()


async def test_credential_that_is_over_closes_a_handed_client() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with handed_over(rt, terminal, (*WHO, ("expires", "1"))) as (wire, _):
            assert await wire.closed() == 4401


@pytest.mark.parametrize(
    ("first", "payload", "masked", "code"),
    [(0x82, b"x", False, 1002), (0xF2, b"x", True, 1002), (0x81, b"\xff\xfe", True, 1007)],
)
async def test_handed_client_that_breaks_the_protocol_is_closed_and_the_terminal_lives(
    first: int, payload: bytes, masked: bool, code: int
) -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with handed_over(rt, terminal) as (wire, link):
            await wire.frame()
            await wire.send(first, payload, masked=masked)
            assert await wire.closed() == code
            await link.ended()
        _, shown = await rt.call("GET", f"/sessions/{terminal}")
        assert (shown["state"], shown["viewers"]) == ("running", 0)


async def test_session_is_refused_before_the_hand_over_where_an_attach_is() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        upgrade = {"Upgrade": "atoll-seat", "Connection": "Upgrade"}
        for path, headers, status in (
            ("/sessions/t_none/seat", upgrade, 404),
            (f"/sessions/{terminal}/seat?role=king", upgrade, 422),
            (f"/sessions/{terminal}/seat", {}, 422),
        ):
            found, problem = await rt.call("GET", path, headers=headers)
            assert found == status, problem


async def test_session_that_nobody_is_handed_to_is_given_up() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        path = f"/sessions/{terminal}/seat"
        async with unix_handover_link(str(rt.socket_path), path, WHO, None) as link:
            assert link is not None and await link.is_admitted()
        async with handed_over(rt, terminal) as (wire, _):
            kind, _ = await wire.frame()
            assert kind == 1


async def test_descriptors_of_left_clients_do_not_pile_up() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        counts = []
        for _ in range(5):
            async with handed_over(rt, terminal) as (wire, link):
                await wire.frame()
                wire.end.shutdown(socket.SHUT_RDWR)
                await link.ended()
            counts.append(len([*Path("/proc/self/fd").iterdir()]))
        assert counts[-1] <= counts[1]


async def test_session_is_free_again_when_what_is_handed_over_is_no_connection() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        path = f"/sessions/{terminal}/seat"
        for _ in range(3):
            async with unix_handover_link(str(rt.socket_path), path, WHO, None) as link:
                assert link is not None and await link.is_admitted()
                read, write = os.pipe()
                link.pass_socket(read)
                os.close(read)
                os.close(write)
                async with asyncio.timeout(5):
                    await link.ended()
                link.disconnect()
        _, shown = await rt.call("GET", f"/sessions/{terminal}")
        assert (shown["state"], shown["viewers"]) == ("running", 0)
