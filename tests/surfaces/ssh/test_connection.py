"""Forwards that a connection reports: those that were opened, and no others."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from unittest.mock import Mock

import asyncssh
import pytest

from atoll.domain.errors import Conflict, Forbidden
from atoll.ports.runtime import ByteConnection
from atoll.surfaces.ssh.connection import Connection


class Login:
    """A login that may forward, to the sockets of the workspace."""

    def check(self, right: str) -> None:
        assert right == "forward"

    @asynccontextmanager
    async def socket(self, path: str) -> AsyncIterator[ByteConnection]:
        if not path.startswith("/workspace/"):
            raise Forbidden("it leads out of the workspace")
        if path.endswith("/dead"):
            raise Conflict("nothing listens there")
        yield Mock()

    @asynccontextmanager
    async def port(self, number: int) -> AsyncIterator[ByteConnection]:
        if number == 9:
            raise Conflict("nothing listens there")
        yield Mock()


@pytest.fixture
def connection() -> Connection:
    """A connection that has logged in; its gateway takes the reports."""
    made = Connection(Mock(), "203.0.113.9", None)
    made.login = Login()  # type: ignore[assignment]
    return made


def reports(connection: Connection) -> list[str]:
    """Return the targets of the forwards that were reported."""
    calls = connection.gateway.report.call_args_list  # type: ignore[attr-defined]
    return [call.kwargs["to"] for call in calls if call.args[1] == "ssh.forwarded"]


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "x" * 5000, "localhost.evil"])
async def test_forward_elsewhere_is_prohibited_and_not_reported(
    connection: Connection, host: str
) -> None:
    with pytest.raises(asyncssh.ChannelOpenError) as refused:
        await connection.connection_requested(host, 80, "", 0)
    assert refused.value.code == asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED
    assert reports(connection) == []


async def test_forward_where_nobody_listens_fails_at_its_open(connection: Connection) -> None:
    with pytest.raises(asyncssh.ChannelOpenError) as refused:
        await connection.connection_requested("localhost", 9, "", 0)
    assert refused.value.code == asyncssh.OPEN_CONNECT_FAILED
    assert reports(connection) == []


async def test_forward_that_is_opened_is_reported_once(connection: Connection) -> None:
    await connection.connection_requested("localhost", 8000, "", 0)
    assert reports(connection) == ["localhost:8000"]


@pytest.mark.parametrize("path", ["/workspace/dead", "/etc/docker.sock"])
async def test_socket_that_is_refused_is_not_reported(connection: Connection, path: str) -> None:
    with pytest.raises(asyncssh.ChannelOpenError):
        await connection.unix_connection_requested(path)
    assert reports(connection) == []


async def test_socket_that_is_opened_is_reported_once(connection: Connection) -> None:
    await connection.unix_connection_requested("/workspace/live")
    assert reports(connection) == ["/workspace/live"]
