"""The contract of RuntimeClients, and of the clients, streams and channels it gives.

Subclass `RuntimeClientsContract` in a test module. Fixtures: `clients`; `living`, the address of a
runtime that answers `GET /health` with 200 and whose terminal at `TERMINAL` sends each frame back;
`working`, the address of a runtime whose worker `w1` answers `test/ping` and is new; `running`, the
address of a runtime that runs `cat`, and where a socket at `SOCKET` sends back what it gets;
`dead`, the address of a runtime that does not answer, asked for in tests of its own.
"""

import asyncio
import json

import pytest

from atoll.domain.errors import Conflict, Failed, Invalid, NotFound, Unavailable
from atoll.ports.extension import Reachability
from atoll.ports.runtime import ByteConnection, Output, RuntimeClient, RuntimeClients
from atoll.wire.contract.call import PathId, bytes_call, json_call
from atoll.wire.contract.exec_pipe import OutputEnd, PipeBody, ProgramExit
from atoll.wire.contract.terminals import End
from atoll.wire.contract.workers import (
    WorkerRequestBody,
    acknowledge_spool,
    read_spool,
    request_worker,
)

TERMINAL = "/sessions/t_1/attach"
SOCKET = "echo/s"
HEALTH = bytes_call("/health")
WORKER = PathId("w1")
NOWHERE = bytes_call("/nothing-is-here")
PATIENCE_SECONDS = 10
HOSTILE_PATHS = ("health", "", "http://elsewhere/health", "/files/../health", "/./health")


class RuntimeClientsContract:
    """Contract of runtime clients: answers have the type of the call; a refusal raises the error
    that its code names; a call that a caller abandons does not affect the next one."""

    async def test_call_gives_the_whole_answer(
        self, clients: RuntimeClients, living: Reachability
    ) -> None:
        body = await clients.client(living).call(HEALTH)
        assert isinstance(json.loads(body), dict)

    async def test_calls_at_once_are_all_answered(
        self, clients: RuntimeClients, living: Reachability
    ) -> None:
        several = [clients.client(living).call(HEALTH) for _ in range(20)]
        bodies = await asyncio.gather(*several)
        assert all(isinstance(json.loads(body), dict) for body in bodies)

    async def test_answer_of_another_kind_than_the_call_says_is_a_failure(
        self, clients: RuntimeClients, living: Reachability
    ) -> None:
        with pytest.raises(Failed):
            await clients.client(living).call(json_call("GET", "/health", list[int]))

    async def test_refusal_of_the_runtime_is_an_error(
        self, clients: RuntimeClients, living: Reachability
    ) -> None:
        with pytest.raises(NotFound):
            await clients.client(living).call(NOWHERE)
        with pytest.raises(NotFound):
            async with clients.client(living).stream(NOWHERE):
                pass
        with pytest.raises(NotFound):
            async with clients.client(living).attach("/sessions/t_9/attach"):
                pass

    async def test_stream_gives_the_same_bytes(
        self, clients: RuntimeClients, living: Reachability
    ) -> None:
        async with clients.client(living).stream(HEALTH) as answer:
            assert answer.status == 200
            body = b"".join([piece async for piece in answer.body])
        assert isinstance(json.loads(body), dict)

    async def test_stream_that_is_left_or_cancelled_harms_no_later_call(
        self, clients: RuntimeClients, living: Reachability
    ) -> None:
        client = clients.client(living)
        async with client.stream(HEALTH):
            pass
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(client.call(HEALTH)) for _ in range(5)]
            await asyncio.sleep(0)
            for call in calls:
                call.cancel()
        body = await client.call(HEALTH)
        assert isinstance(json.loads(body), dict)

    @pytest.mark.parametrize("path", HOSTILE_PATHS)
    async def test_path_outside_the_contract_is_refused(
        self, clients: RuntimeClients, living: Reachability, path: str
    ) -> None:
        client = clients.client(living)
        with pytest.raises(Invalid):
            await client.call(bytes_call(path))
        with pytest.raises(Invalid):
            async with client.stream(bytes_call(path)):
                pass
        with pytest.raises(Invalid):
            async with client.attach(path):
                pass
        with pytest.raises(Invalid):
            async with client.request_handover(path):
                pass

    async def test_frames_come_back_in_order_and_as_they_were_sent(
        self, clients: RuntimeClients, living: Reachability
    ) -> None:
        sent: list[bytes | str] = [b"", b"\0\xff", "text \u2713", b"x" * 65536, "last"]
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            clients.client(living).attach(TERMINAL, (("mode", "view"),)) as channel,
        ):
            assert channel.close_code is None
            for frame in sent:
                await channel.send(frame)
            heard: list[bytes | str] = []
            async for frame in channel:
                heard.append(frame)
                if frame == sent[-1]:
                    break
        assert heard[-len(sent) :] == sent

    async def test_closed_channel_sends_nothing_and_ends(
        self, clients: RuntimeClients, living: Reachability
    ) -> None:
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            clients.client(living).attach(TERMINAL) as channel,
        ):
            await channel.close(1000, "enough")
            await channel.close()
            with pytest.raises(Unavailable):
                await channel.send(b"late")
            _ = [frame async for frame in channel]

    async def test_pipe_gives_what_the_program_wrote_and_its_end(
        self, clients: RuntimeClients, running: Reachability
    ) -> None:
        data = bytes(range(256)) * 4096
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            clients.client(running).pipe(PipeBody(argv=["cat"])) as pipe,
        ):
            assert pipe.exec_id
            await pipe.write(data[:-1])
            await pipe.write(data[-1:])
            await pipe.write_eof()
            await pipe.write_eof()
            with pytest.raises(Conflict):
                await pipe.write(b"late")
            events = [event async for event in pipe]
        output = [event.data for event in events if isinstance(event, Output)]
        assert b"".join(output) == data
        assert events[-1] == ProgramExit(End(code=0))
        assert {OutputEnd("stdout"), OutputEnd("stderr")} == {
            event for event in events if isinstance(event, OutputEnd)
        }

    async def test_signal_ends_a_piped_program(
        self, clients: RuntimeClients, running: Reachability
    ) -> None:
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            clients.client(running).pipe(PipeBody(argv=["cat"])) as pipe,
        ):
            with pytest.raises(Invalid):
                await pipe.signal("KITTEN")
            await pipe.signal("TERM")
            events = [event async for event in pipe]
        assert events[-1] == ProgramExit(End(signal="TERM"))

    async def test_pipe_that_was_closed_ends(
        self, clients: RuntimeClients, running: Reachability
    ) -> None:
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            clients.client(running).pipe(PipeBody(argv=["cat"])) as pipe,
        ):
            await pipe.close()
            await pipe.close()
            with pytest.raises(Unavailable):
                await pipe.write(b"late")
            with pytest.raises(Unavailable):
                _ = [event async for event in pipe]

    @pytest.mark.parametrize("body", [PipeBody(), PipeBody(argv=["cat"], shell="cat")])
    async def test_pipe_that_says_nothing_to_run_is_refused(
        self, clients: RuntimeClients, running: Reachability, body: PipeBody
    ) -> None:
        with pytest.raises(Invalid):
            async with clients.client(running).pipe(body):
                pass

    async def test_socket_gives_bytes_and_their_end_both_ways(
        self, clients: RuntimeClients, running: Reachability
    ) -> None:
        data = bytes(range(256)) * 4096
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            clients.client(running).socket(SOCKET) as connection,
            asyncio.TaskGroup() as tasks,
        ):
            reading = tasks.create_task(_read_all(connection))
            await connection.write(data)
            await connection.write_eof()
            assert await reading == data
            await connection.close()
            with pytest.raises(Unavailable):
                await connection.write(b"late")

    async def test_socket_that_is_not_there_is_refused(
        self, clients: RuntimeClients, running: Reachability
    ) -> None:
        with pytest.raises(NotFound) as refused:
            async with clients.client(running).socket("echo/none"):
                pass
        assert refused.value.code == "no_such_file"

    async def test_port_where_nobody_listens_is_refused(
        self, clients: RuntimeClients, running: Reachability
    ) -> None:
        with pytest.raises(Conflict) as refused:
            async with clients.client(running).port(9):
                pass
        assert refused.value.code == "nobody_listens"

    async def test_request_of_a_worker_has_one_receipt_which_its_spool_holds(
        self, clients: RuntimeClients, working: Reachability
    ) -> None:
        client = clients.client(working)
        body = WorkerRequestBody(
            request_id="r1", method="test/ping", params={"a": 1}, wait_ms=PATIENCE_SECONDS * 1000
        )
        first = await client.call(request_worker(WORKER, body))
        assert await client.call(request_worker(WORKER, body)) == first
        assert first.receipt is not None and first.receipt.kind == "response"
        page = await client.call(read_spool(WORKER, after=0, limit=10))
        assert [(entry.n, entry.request_id) for entry in page.entries] == [(1, "r1")]
        assert bytes(page.entries[0].data) == bytes(first.receipt.data)
        with pytest.raises(Conflict):
            other = WorkerRequestBody(request_id="r1", method="test/ping", params={"a": 2})
            await client.call(request_worker(WORKER, other))
        await client.call(acknowledge_spool(WORKER, 1))
        page = await client.call(read_spool(WORKER, after=0, limit=10))
        assert (page.entries, page.last, page.acknowledged) == ([], 1, 1)
        with pytest.raises(NotFound):
            await client.call(acknowledge_spool(PathId("w2"), 1))

    async def test_runtime_that_does_not_answer_is_unavailable(
        self, clients: RuntimeClients, dead: Reachability
    ) -> None:
        await _assert_unavailable(clients.client(dead))
        async with clients.client(dead).request_handover(TERMINAL) as link:
            assert link is None

    async def test_nothing_is_sent_after_the_end(
        self, clients: RuntimeClients, living: Reachability
    ) -> None:
        client = clients.client(living)
        await client.call(HEALTH)
        await clients.close()
        await clients.close()
        await _assert_unavailable(client)
        await _assert_unavailable(clients.client(living))


async def _read_all(connection: ByteConnection) -> bytes:
    return b"".join([piece async for piece in connection])


async def _assert_unavailable(client: RuntimeClient) -> None:
    with pytest.raises(Unavailable):
        await client.call(HEALTH)
    with pytest.raises(Unavailable):
        async with client.stream(HEALTH):
            pass
    with pytest.raises(Unavailable):
        async with client.attach(TERMINAL):
            pass
    with pytest.raises(Unavailable):
        async with client.pipe(PipeBody(argv=["cat"])):
            pass
    with pytest.raises(Unavailable):
        async with client.socket(SOCKET):
            pass
    with pytest.raises(Unavailable):
        async with client.port(9):
            pass
