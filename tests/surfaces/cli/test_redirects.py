"""A terminal's WebSocket goes to the address that was asked, and never on to another one."""

import pytest
from aiohttp import web

from atoll.client.server import Server, server_at
from atoll.client.transport import api_path
from atoll.surfaces.cli.attach.connection import ConnectionEnd, TerminalTarget, connect
from tests.surfaces.cli.commands.terminals.test_attach import person_tty
from tests.surfaces.cli.scripted import TOKEN, Scripted

PATH = api_path("sandboxes", "sb_box", "terminals", "t_1", "attach")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_handshake_that_is_redirected_is_refused_and_reaches_nobody_else(
    server: Scripted, status: int
) -> None:
    with Scripted().serving() as other:
        elsewhere = {"Location": f"{other.url}{PATH}"}
        server.answers[f"GET {PATH}"] = lambda _: web.Response(status=status, headers=elsewhere)
        async with connect(lambda: _server(server), TerminalTarget("sb_box", "t_1", "box"), ()) as (
            connection
        ):
            assert connection == ConnectionEnd(status=status)
        assert other.seen == []
    assert len(server.requests("GET", PATH)) == 1


def test_attach_that_is_redirected_ends_with_a_sentence(
    server: Scripted, environ: dict[str, str]
) -> None:
    server.add("box")
    with Scripted().serving() as other:
        elsewhere = {"Location": f"{other.url}{PATH}"}
        server.answers[f"GET {PATH}"] = lambda _: web.Response(status=302, headers=elsewhere)
        with person_tty(environ, "attach", "box") as person:
            assert person.ends() == 1
            assert b"sends terminals to another address" in person.seen
            assert person.restored
        assert other.seen == []


def _server(scripted: Scripted) -> Server:
    return server_at(scripted.url, "the test")._replace(token=TOKEN)
