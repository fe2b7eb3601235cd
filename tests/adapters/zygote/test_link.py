"""Requests to the zygote name the request of a client that led to them."""

import asyncio
import socket
from pathlib import Path

import pytest
import structlog

from atoll.adapters.zygote.link import ZygoteLink
from atoll.domain.errors import NotFound
from atoll.wire.zygote import messages as wire
from atoll.zygote.daemon.server import _log_suffix

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


async def asked(path: Path, **known: str) -> wire.NumberedRequest:
    """Send one request to a zygote that refuses it, and return what it received."""
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.setblocking(False)
        link = ZygoteLink(path)
        with structlog.contextvars.bound_contextvars(**known):
            request = loop.create_task(link.request(wire.Stop("sb_a"), seconds=10))
        connection, _ = await loop.sock_accept(listener)
        with connection:
            packet = await loop.sock_recv(connection, wire.MAX_MESSAGE_BYTES)
            got = wire.decode_request(packet)
            connection.send(wire.encode_answer(got.number, wire.Refused("not_found", "no")))
            with pytest.raises(NotFound):
                await request
        link.close()
    return got


async def test_request_of_a_client_is_named_to_the_zygote(tmp_path: Path) -> None:
    got = await asked(tmp_path / "z", request_id="mine-1", traceparent=TRACE, org="personal")
    assert (got.request_id, got.traceparent) == ("mine-1", TRACE)
    assert _log_suffix(got) == f" request_id=mine-1 traceparent={TRACE}"


async def test_work_of_atolls_own_names_nothing(tmp_path: Path) -> None:
    got = await asked(tmp_path / "z")
    assert got == wire.NumberedRequest(1, wire.Stop("sb_a"))
    assert _log_suffix(got) == "" and b"request_id" not in wire.encode_request(1, got.request)
