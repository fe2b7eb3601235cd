"""What somebody who comes to a terminal later is told of it, and its size."""

from atoll.wire.attach import Resize, Sized
from tests.peers.terminal_client import attached
from tests.runtime.stage import runtime
from tests.runtime.terminals.test_terminals import SEQ, until_still


async def test_start_tells_replay_from_live_output() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with rt.attach(terminal, client="a") as viewer:
            assert viewer.start.live == 0
            await viewer.type(b"before\n")
            await viewer.until_bytes(b"before\r\nbefore\r\n")
        async with rt.attach(terminal, client="b") as later:
            assert (later.start.offset, later.start.live) == (0, 16)
        async with rt.attach(terminal, client="c", since=4) as resumed:
            assert (resumed.start.offset, resumed.start.live) == (4, 16)


async def test_fixed_size_follows_no_driver_until_it_is_let_go() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        path = f"/sessions/{terminal}"
        async with rt.attach(terminal, client="a", cols="90", rows="30") as driver:
            assert not driver.start.fixed
            status, record = await rt.call("PATCH", path, {"fixed": True, "cols": 160, "rows": 50})
            assert (status, record["cols"], record["rows"]) == (200, 160, 50)
            assert record["fixed"]
            assert await driver.until(Sized) == Sized(160, 50, True)
            await driver.say(Resize(70, 20))
            assert (await rt.call("POST", f"{path}/resize", {"cols": 70, "rows": 20}))[0] == 409
            async with rt.attach(terminal, client="b", cols="40", rows="10") as later:
                assert (later.start.cols, later.start.fixed) == (160, True)
            _, record = await rt.call("PATCH", path, {"fixed": False})
            assert not record["fixed"]
            # The window of the driver applies again, as it is by now.
            while (sized := await driver.until(Sized)).cols != 70:
                pass
            assert sized == Sized(70, 20)
            assert (await rt.call("PATCH", path, {"cols": 80}))[0] == 422
            # Without a size it is fixed as it is.
            _, record = await rt.call("PATCH", path, {"fixed": True, "name": "wide"})
            assert (record["cols"], record["rows"], record["name"]) == (70, 20, "wide")


async def test_driver_that_stalls_as_the_flood_it_caused_begins_loses_nothing() -> None:
    async with runtime() as rt:
        line = "stty -echo; echo ready; read go; exec seq 1 200000"
        terminal = await rt.open("sh", "-c", line)
        url = f"http://runtime/sessions/{terminal}/attach"
        async with attached(rt.client, url, "driver") as driver:
            await driver.sees(b"ready\r\n")
            driver.reads.clear()
            await driver.type(b"\n")
            scrollback = rt.terminals.get(terminal).scrollback
            await until_still(lambda: scrollback.end)
            driver.reads.set()
            await driver.until(lambda client: client.end is not None)
            assert driver.exact, driver.gaps
            assert bytes(driver.output) == b"ready\r\n" + SEQ
