"""The client for programs: its names and methods, and a server that is busy or gone."""

import inspect
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

import pytest
from aiohttp import web

import atoll.client
from atoll.client import (
    Atoll,
    Event,
    Gap,
    NotFound,
    Retries,
    Unauthenticated,
    Unavailable,
    read_delivery,
)
from atoll.client.aio.nouns import AsyncNoun
from atoll.client.aio.retries import Retries as Rules
from atoll.client.transport import Call, problem_of
from atoll.domain.errors import AtollError, Failed, Forbidden, LimitReached
from atoll.domain.webhooks.signature import body_of, signed_headers, spelled_secret
from tests.domain.webhooks.test_webhook import event

# They stay out: what they do is done by a server, or by nothing that a program would install.
SERVER_ONLY = {
    *("starlette", "pydantic", "uvicorn", "sqlalchemy", "alembic", "asyncpg"),
    *("structlog", "click", "cryptography", "joserfc", "yaml", "prometheus_client", "nats"),
    *("atoll.services", "atoll.surfaces", "atoll.adapters", "atoll.wiring", "atoll.ports"),
}

Handler = Callable[[web.Request], Any]


@asynccontextmanager
async def server(handler: Handler) -> AsyncIterator[str]:
    """A server that answers by a function; its address."""

    async def answer(request: web.Request) -> web.StreamResponse:
        found = handler(request)
        told: web.StreamResponse = await found if inspect.isawaitable(found) else found
        return told

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def problem(status: int, code: str, **headers: str) -> web.Response:
    return web.json_response({"code": code, "detail": "no"}, status=status, headers=headers)


@pytest.mark.parametrize("name", atoll.client.__all__)
def test_published_name_is_the_one_its_module_defines(name: str) -> None:
    found = getattr(atoll.client, name)
    assert found is not None and inspect.getdoc(found)
    with pytest.raises(AttributeError):
        _ = atoll.client.Nothing


def test_client_loads_nothing_of_a_server() -> None:
    code = "import sys; from atoll.client import Atoll; Atoll('http://127.0.0.1:1', 'x');"
    code += "print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    loaded = done.stdout.split()
    assert {one for one in loaded if any(f"{one}.".startswith(f"{name}.") for name in SERVER_ONLY)
            } == set()  # fmt: skip


def test_package_itself_loads_no_event_loop() -> None:
    """The command line imports it at every start."""
    code = "import sys, atoll.client, atoll.client.client; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert {"asyncio", "aiohttp"} & set(done.stdout.split()) == set()


OF_COMMANDS = {"Dashboards", "Previews"}
"""What the command line alone uses so far."""


def _blocking() -> dict[str, type]:
    modules: list[ModuleType] = [
        import_module(one.name)
        for one in walk_packages(atoll.client.__path__, "atoll.client.")
        if not one.name.startswith("atoll.client.aio")
    ]
    return {
        name: found
        for module in modules
        for name, found in vars(module).items()
        if inspect.isclass(found)
        and found.__module__ == module.__name__
        and getattr(found.__init__, "__annotations__", {}).keys() == {"transport", "return"}
        # One that another extends is a part of that.
        and not found.__subclasses__()
    }


def test_every_method_of_the_blocking_client_is_there() -> None:
    client = Atoll("http://127.0.0.1:1", "x")
    nouns = {
        type(noun).blocking: noun for noun in vars(client).values() if isinstance(noun, AsyncNoun)
    }
    assert {found.__name__ for found in nouns} == _blocking().keys() - OF_COMMANDS
    for blocking, noun in nouns.items():
        wanted = {name for name in vars(blocking) if not name.startswith("_")}
        assert {name for name in wanted if not hasattr(noun, name)} == set(), blocking


async def test_a_method_with_two_requests_awaits_both() -> None:
    asked = []

    def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        own = {"id": "p", "org_id": "o1", "name": ""}
        return web.json_response(own if request.path == "/v1/me" else {"organization_id": "o1"})

    async with server(answer) as url, Atoll(url, "t") as client:
        assert (await client.organizations.get(None)).organization_id == "o1"
    assert asked == ["/v1/me", "/v1/organizations/o1"]


async def test_list_is_read_over_all_its_pages() -> None:
    pages = {"": (["A", "B"], "c1"), "c1": (["C"], None)}

    def answer(request: web.Request) -> web.Response:
        names, following = pages[request.query.get("cursor", "")]
        secrets = [{"name": name} for name in names]
        return web.json_response({"secrets": secrets, "next": following})

    async with server(answer) as url, Atoll(url, "t") as client:
        found = await client.secrets.list()
    assert [one.name for one in found.secrets] == ["A", "B", "C"]
    assert found.value["next"] is None


async def test_error_has_class_code_and_request_id() -> None:
    def answer(request: web.Request) -> web.Response:
        return problem(404, "no_such_file", **{"X-Request-ID": request.headers["X-Request-ID"]})

    async with server(answer) as url, Atoll(url, "t") as client:
        with pytest.raises(NotFound) as found:
            await client.files.stat("box", "a")
    assert found.value.code == "no_such_file"
    assert found.value.request_id is not None and len(found.value.request_id) == 32


async def test_retry_after_is_waited_for_and_the_id_stays() -> None:
    seen: list[str] = []

    def answer(request: web.Request) -> web.Response:
        seen.append(request.headers["X-Request-ID"])
        if len(seen) < 3:
            return problem(429, "rate_limited", **{"Retry-After": "0"})
        return web.json_response({"execs": [], "exit_code": 0})

    async with server(answer) as url, Atoll(url, "t") as client:
        assert (await client.execs.run("box", {"argv": ["true"]})).exit_code == 0
    assert len(seen) == 3 and len(set(seen)) == 1


async def test_pause_beyond_the_longest_is_an_error_at_once() -> None:
    def answer(_: web.Request) -> web.Response:
        return problem(429, "rate_limited", **{"Retry-After": "31"})

    async with server(answer) as url, Atoll(url, "t") as client:
        with pytest.raises(LimitReached) as found:
            await client.me()
    assert found.value.code == "rate_limited"


GET, POST = Call("GET", "/v1/me"), Call("POST", "/v1/x")
KEYED = POST._replace(headers=(("Idempotency-Key", "k"),))


@pytest.mark.parametrize(
    ("call", "status", "code", "after", "again"),
    [
        (GET, 503, "unavailable", None, True), (POST, 503, "unavailable", None, False),
        (KEYED, 503, "unavailable", "1", True), (POST, 503, "unavailable", "1", False),
        (POST, 503, "not_ready", "1", True), (POST, 429, "rate_limited", "1", True),
        (GET, 429, "limit_reached", "1", False), (GET, 502, "failed", None, False),
        (GET, 404, "not_found", "1", False), (GET, 503, "unavailable", "Mon, 1 Jan", False),
    ],
)  # fmt: skip
def test_request_is_repeated_where_that_does_no_harm(
    call: Call, status: int, code: str, after: str | None, again: bool
) -> None:
    error = problem_of(status, f'{{"code": "{code}", "detail": "no"}}'.encode())
    assert (Rules().after_answer(call, error, after, 1) is not None) is again
    assert Rules().after_answer(call, error, after, 4) is None


async def test_server_that_is_gone_is_unavailable_with_an_id() -> None:
    async with server(lambda _: web.Response()) as url:
        pass
    async with Atoll(url, "t", retries=Retries(attempts=2)) as client:
        with pytest.raises(Unavailable) as found:
            await client.me()
    assert found.value.request_id


async def test_client_that_is_not_open_says_so() -> None:
    with pytest.raises(RuntimeError, match="async with"):
        await Atoll("http://127.0.0.1:1", "x").me()


def test_token_never_goes_over_plain_http_to_another_machine() -> None:
    with pytest.raises(Forbidden):
        Atoll("http://192.0.2.1", "x")


async def test_redirect_is_not_followed_with_the_token() -> None:
    asked = []

    def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        raise web.HTTPTemporaryRedirect("/elsewhere")

    async with server(answer) as url, Atoll(url, "t") as client:
        with pytest.raises(AtollError):
            await client.me()
        with pytest.raises(AtollError):
            async with client.terminals.attach("box", "t_1"):
                pass
    assert "/elsewhere" not in asked


async def test_stream_of_events_resumes_over_a_cut_and_names_gaps() -> None:
    places: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        places.append(request.headers.get("Last-Event-ID", ""))
        told = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await told.prepare(request)
        if len(places) == 1:
            await told.write(b'id: 5\nevent: auth.login\ndata: {"position": 5}\n\nid: 6\nda')
            assert request.transport is not None
            request.transport.abort()
        else:
            await told.write(b'event: gap\ndata: {"after": 5, "to": 8}\n\n')
            await told.write(b'id: 9\nevent: auth.login\ndata: {"position": 9}\n\n')
        return told

    found: list[int] = []
    async with server(answer) as url, Atoll(url, "t") as client:
        async for event in client.events.follow(after=4):
            found.append(event.to if isinstance(event, Gap) else event.position)
            if isinstance(event, Event) and event.position == 9:
                break
    assert found == [5, 8, 9]
    assert places[:2] == ["4", "5"]


async def test_terminal_continues_at_the_next_byte() -> None:
    queries: list[dict[str, str]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        queries.append(dict(request.query))
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        start = {"type": "start", "offset": int(request.query.get("since", 10)), "preamble": "",
                 "cols": 80, "rows": 24, "client": "c", "driver": None, "title": "",
                 "ack_every": 4, "input_window": 8}  # fmt: skip
        await socket.send_json(start)
        if len(queries) == 1:
            await socket.send_bytes(b"hello")
            said = await socket.receive_str()
            assert said == '{"type":"ack","offset":15}'
            await socket.close(code=1012)
        else:
            await socket.send_bytes(b" world")
            await socket.send_json({"type": "exit", "offset": 21, "code": 3})
            await socket.close(code=1000)
        return socket

    async with (
        server(answer) as url,
        Atoll(url, "t") as client,
        client.terminals.attach("box", "t_1") as terminal,
    ):
        assert await terminal.read_until(b"never") == b"hello world"
        assert terminal.exited is not None and terminal.exited.code == 3
        assert terminal.offset == 21
    assert "since" not in queries[0] and queries[1]["since"] == "15"
    assert queries[0]["client"] == queries[1]["client"]


async def test_terminal_acknowledges_the_first_output_before_what_is_typed_after_it() -> None:
    said: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        start = {"type": "start", "offset": 10, "preamble": "", "cols": 80, "rows": 24,
                 "client": "c", "driver": "c", "title": "", "ack_every": 16384,
                 "input_window": 64}  # fmt: skip
        await socket.send_json(start)
        await socket.send_bytes(b"$ ")
        said.append(await socket.receive_str())
        said.append((await socket.receive_bytes()).decode())
        await socket.send_json({"type": "exit", "offset": 12, "code": 0})
        await socket.close(code=1000)
        return socket

    async with (
        server(answer) as url,
        Atoll(url, "t") as client,
        client.terminals.attach("box", "t_1") as terminal,
    ):
        assert await terminal.read_until(b"$ ") == b"$ "
        await terminal.write(b"seq 1000000\n")
        assert await terminal.read_until(b"never") == b""
    assert said == ['{"type":"ack","offset":12}', "seq 1000000\n"]


async def test_terminal_that_is_gone_is_a_typed_error() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.close(code=4404)
        return socket

    async with server(answer) as url, Atoll(url, "t") as client:
        with pytest.raises(NotFound):
            async with client.terminals.attach("box", "t_1") as terminal:
                await terminal.read_until(b"x")


SECRET, OTHER = spelled_secret(b"k" * 32), spelled_secret(b"o" * 32)
BODY = body_of(event())
NOW = datetime(2026, 11, 24, tzinfo=UTC)


@pytest.mark.parametrize("signed", [[SECRET], [OTHER, SECRET]])
def test_delivery_that_is_signed_is_its_event(signed: list[str]) -> None:
    headers = signed_headers("ev_1", BODY, at=NOW, secrets=signed)
    found = read_delivery(SECRET, headers, BODY, now=NOW.timestamp() + 299)
    assert found.event_type == event().event_type
    assert read_delivery([OTHER, SECRET], headers, BODY, now=NOW.timestamp()).id == event().id


@pytest.mark.parametrize(
    ("changed", "body", "late"),
    [
        ({}, BODY + b" ", 0), ({}, BODY, 301), ({}, BODY, -301),
        ({"webhook-id": "ev_2"}, BODY, 0), ({"webhook-timestamp": ""}, BODY, 0),
        ({"webhook-timestamp": "9" * 5000}, BODY, 0), ({"webhook-signature": "v1,"}, BODY, 0),
        ({"webhook-signature": "v1,\udce9"}, BODY, 0), ({"webhook-id": "\udce9"}, BODY, 0),
    ],
)  # fmt: skip
def test_delivery_that_is_not_genuine_is_refused(
    changed: dict[str, str], body: bytes, late: float
) -> None:
    headers = {**signed_headers("ev_1", BODY, at=NOW, secrets=[SECRET]), **changed}
    with pytest.raises(Unauthenticated):
        read_delivery(SECRET, headers, body, now=NOW.timestamp() + late)


async def test_answer_that_is_no_json_is_failed() -> None:
    async with server(lambda _: web.Response(text="<p>")) as url, Atoll(url, "t") as client:
        with pytest.raises(Failed, match="is this an Atoll server"):
            await client.me()
