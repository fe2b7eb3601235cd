"""The egress door against real sockets: what passes, what is refused, and what is written down."""

import asyncio
import contextlib
import json
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from atoll.domain.errors import NotFound
from atoll.domain.network.egress import Destination, EgressPolicy, Refused
from atoll.runtime.doors.approvals.command_requests import MAX_WAITING, CommandRequests
from atoll.runtime.doors.approvals.endpoint import ApprovalEndpoint
from atoll.runtime.doors.approvals.push_reports import PushReports
from atoll.runtime.doors.egress import call as egress_call
from atoll.runtime.doors.egress.call import make_handler
from atoll.runtime.doors.egress.egress import Egress, serve_egress
from atoll.runtime.execs.sudo import Sudo
from atoll.wire.contract.policy import Commands, EgressRule, Network, Policy

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


NOTHING = Commands()


@dataclass
class Server:
    """A peer out there: keeps what it got, answers `answer` after a head, then echoes."""

    answer: bytes = OK
    got: bytearray = field(default_factory=bytearray)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    hold: bool = False
    port: int = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                self.got += data
                self.heard.set()
                if self.answer and b"\r\n\r\n" in self.got:
                    writer.write(self.answer)
                    await writer.drain()
                    if not self.hold:
                        break
                elif not self.answer:
                    writer.write(data)
                    await writer.drain()
        self.ended.set()
        writer.close()


@dataclass
class Door:
    egress: Egress
    server: Server
    port: int
    audit: list[tuple[str, Mapping[str, object]]]
    lookups: list[str]
    news: asyncio.Event
    asks: CommandRequests

    async def told(self, kind: str) -> Mapping[str, object]:
        """The last entry of `kind`, awaited."""
        async with asyncio.timeout(10):
            while not (found := [told for name, told in self.audit if name == kind]):
                self.news.clear()
                await self.news.wait()
        return found[-1]

    async def open(self, said: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(said)
        return reader, writer

    async def say(self, said: bytes) -> bytes:
        """Everything the door answers, until it ends."""
        reader, writer = await self.open(said)
        try:
            async with asyncio.timeout(10):
                return await reader.read()
        finally:
            writer.close()

    async def tunnel(self, host: str, first: bytes) -> tuple[bytes, asyncio.StreamWriter]:
        """What comes back through a tunnel after `first`, to its end."""
        reader, writer = await self.open(connect(host, self.server.port))
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(first)
        async with asyncio.timeout(10):
            return await reader.read(), writer

    def live_by(self, mode: str = "limited", **more: object) -> None:
        rules = (
            EgressRule(host="a.example", ports=(self.server.port,)),
            EgressRule(host="paths.example", ports=(self.server.port,), methods=("GET",),
                       paths=("/ok",)),
            EgressRule(host="inner.example", ports=(self.server.port,)),
        )  # fmt: skip
        network = Network(mode=mode, rules=rules, ports=(self.server.port,), **more)  # type: ignore[arg-type]
        self.egress.apply(Policy(network=network))

    def codes(self, kind: str = "door.refused") -> list[object]:
        return [told["code"] for name, told in self.audit if name == kind]


@asynccontextmanager
async def door(
    server: Server | None = None, commands: Commands = NOTHING, **more: object
) -> AsyncIterator[Door]:
    """A door whose names stand for this machine: `*.example` is loopback, judged as public."""
    audit: list[tuple[str, Mapping[str, object]]] = []
    lookups: list[str] = []
    server = server or Server()

    async def resolve(host: str, _port: int) -> tuple[str, ...]:
        lookups.append(host)
        return ("10.9.9.9",) if host == "inner.example" else ("127.0.0.1",)

    def judged(_policy: EgressPolicy, _to: Destination, address: str) -> Refused | None:
        return None if address == "127.0.0.1" else Refused("address_not_public", "inner")

    news = asyncio.Event()

    def record(kind: str, told: Mapping[str, object]) -> None:
        audit.append((kind, told))
        news.set()

    egress = Egress("sb_1", record, resolve=resolve, judge_address=judged)
    asks = CommandRequests(record)
    sudo = Sudo(None, lambda _kind, _payload: None)
    endpoint = ApprovalEndpoint(asks, lambda: commands, sudo, pushes=PushReports(record, 60))
    listener = socket.create_server(("127.0.0.1", 0))
    out = await asyncio.start_server(server, "127.0.0.1", 0)
    async with out, serve_egress(egress, (listener,), make_handler(endpoint)):
        server.port = out.sockets[0].getsockname()[1]
        made = Door(egress, server, listener.getsockname()[1], audit, lookups, news, asks)
        made.live_by(**more)  # type: ignore[arg-type]
        yield made


def connect(host: str, port: int) -> bytes:
    return f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()


def get(host: str, port: int, path: str = "/") -> bytes:
    return f"GET http://{host}:{port}{path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()


def hello(name: str | None) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


async def test_plain_request_is_written_anew_and_answered() -> None:
    async with door() as here:
        said = get("a.example", here.server.port, "/x?y=1").replace(
            b"\r\n\r\n", b"\r\nProxy-Authorization: Basic x\r\nX-A: 1\r\n\r\n"
        )
        assert (await here.say(said)).endswith(b"ok")
        assert here.server.got == (
            f"GET /x?y=1 HTTP/1.1\r\nHost: a.example:{here.server.port}\r\nx-a: 1\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        told = await here.told("door.request")
        assert (told["host"], told["rule"], told["outcome"], told["door"]) == (
            "a.example", "profile a.example", "passed", "egress",
        )  # fmt: skip


async def test_bodies_are_framed_anew_and_nothing_after_them_is_sent() -> None:
    async with door(Server(answer=b"")) as here:
        port = here.server.port
        line = f"POST http://a.example:{port}/ HTTP/1.1\r\nHost: a.example:{port}\r\n".encode()
        smuggled = b"GET /second HTTP/1.1\r\nHost: b.example\r\n\r\n"
        for framing, body, ends in (
            (b"Content-Length: 3\r\n\r\n", b"abc", b"\r\n\r\nabc"),
            (b"Transfer-Encoding: chunked\r\n\r\n", b"3;x=1\r\nabc\r\n0\r\nT: 1\r\n\r\n",
             b"\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
        ):  # fmt: skip
            here.server.got.clear()
            reader, writer = await here.open(line + framing + body + smuggled)
            seen = b""
            async with asyncio.timeout(5):
                while not seen.endswith(ends):
                    seen += await reader.read(65536)
            assert bytes(here.server.got).endswith(ends)
            assert b"second" not in here.server.got
            writer.close()


async def test_refused_name_is_never_resolved_and_says_how_to_allow_it() -> None:
    async with door() as here:
        answer = await here.say(connect("evil.example", 443))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 403 ")
        assert json.loads(body)["code"] == "not_listed"
        assert "atoll net allow sb_1 evil.example" in json.loads(body)["detail"]
        assert here.lookups == []
        ((kind, told),) = here.audit
        assert (kind, told["code"], told["allow"]) == (
            "door.refused", "not_listed", "atoll net allow sb_1 evil.example",
        )  # fmt: skip


async def test_name_that_stands_for_an_inner_address_is_not_dialled() -> None:
    async with door() as here:
        assert b"address_not_public" in await here.say(connect("inner.example", here.server.port))
        assert not here.server.got


async def test_tunnel_with_the_right_name_passes_bytes_both_ways() -> None:
    async with door(Server(answer=b"")) as here:
        reader, writer = await here.open(
            connect("a.example", here.server.port) + hello("a.example")
        )
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(5) == hello("a.example")[:5]
        writer.close()
        await here.server.ended.wait()


@pytest.mark.parametrize(
    ("first", "code"),
    [
        (hello("evil.example"), "sni_mismatch"),
        (hello(None), "sni_mismatch"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "no_hello"),
        (b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", "no_hello"),
        (b"\x16\x03\x01\x00", "no_hello"),
    ],
)
async def test_tunnel_with_another_first_word_is_closed_before_a_byte_left(
    first: bytes, code: str
) -> None:
    async with door(Server(answer=b"")) as here:
        reader, writer = await here.open(connect("a.example", here.server.port))
        await reader.readuntil(b"\r\n\r\n")
        writer.write(first)
        writer.write_eof()
        async with asyncio.timeout(10):
            answer = await reader.read()
        assert answer == egress_call._NAME_REFUSED
        assert here.codes() == [code]
        assert not here.server.got
        writer.close()


async def test_tunnel_of_one_who_says_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_call, "HELLO_SECONDS", 0.05)
    async with door(Server(answer=b"")) as here:
        answer, writer = await here.tunnel("a.example", b"")
        assert answer == egress_call._NAME_REFUSED
        assert here.codes() == ["no_hello"]
        writer.close()


async def test_full_mode_lets_other_protocols_pass_but_no_provider_inside_tls() -> None:
    async with door(Server(answer=b""), mode="full") as here:
        reader, writer = await here.open(
            connect("ssh.example", here.server.port) + b"SSH-2.0-x\r\n"
        )
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(11) == b"SSH-2.0-x\r\n"
        writer.close()
        answer, writer = await here.tunnel("front.example", hello("api.openai.com"))
        assert answer == egress_call._NAME_REFUSED
        assert here.codes() == ["provider_host"]
        writer.close()


async def test_switch_of_mode_cuts_what_is_no_longer_allowed_at_once() -> None:
    async with door(Server(answer=b"")) as here:
        reader, writer = await here.open(
            connect("a.example", here.server.port) + hello("a.example")
        )
        await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(5)
        here.live_by("limited")  # nothing changed for it
        writer.write(b"still")
        await here.server.heard.wait()
        here.live_by("none")
        async with asyncio.timeout(5):
            with contextlib.suppress(ConnectionError):
                while await reader.read(65536):
                    pass
            await here.server.ended.wait()
        assert (await here.told("door.request"))["outcome"] == "network_none"
        writer.close()


async def test_prefix_rule_binds_plain_requests() -> None:
    async with door() as here:
        assert b"request_not_listed" in await here.say(
            get("paths.example", here.server.port, "/no")
        )
        assert (await here.say(get("paths.example", here.server.port, "/ok/x"))).endswith(b"ok")


@pytest.mark.parametrize(
    "said",
    [
        b"GET http://a.example/ HTTP/1.1\nHost: a.example\n\n",
        b"CONNECT 0x7f.1:443 HTTP/1.1\r\nHost: 0x7f.1:443\r\n\r\n",
        b"\x16\x03\x01\x00\x05hello\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
async def test_request_in_the_grey_is_answered_with_400_and_closed(said: bytes) -> None:
    async with door() as here:
        assert (await here.say(said)).startswith(b"HTTP/1.1 400 ")
        assert here.codes() == ["bad_request"]


async def test_caller_who_sends_no_head_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_call, "HEAD_SECONDS", 0.05)
    async with door() as here:
        assert (await here.say(b"GET http://a.example/ HTTP/1.1\r\n")).startswith(b"HTTP/1.1 408")


async def test_caller_who_goes_away_ends_the_request_outside() -> None:
    async with door(Server(answer=b"HTTP/1.1 200 OK\r\n\r\n", hold=True)) as here:
        reader, writer = await here.open(get("a.example", here.server.port))
        await reader.readuntil(b"\r\n\r\n")
        writer.close()
        async with asyncio.timeout(5):
            await here.server.ended.wait()


async def test_hours_bytes_used_up_end_the_connection_and_are_told() -> None:
    async with door(Server(answer=b""), bytes_out_per_hour=2000) as here:
        _answer, writer = await here.tunnel("a.example", hello("a.example") + bytes(4000))
        assert (await here.told("door.refused"))["code"] == "volume_spent"
        assert b"\0" * 2000 not in here.server.got
        writer.close()


async def test_redirect_of_an_allowed_host_is_handed_back_untouched() -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"
    async with door(Server(answer=moved)) as here:
        assert await here.say(get("a.example", here.server.port)) == moved


async def test_slow_reader_holds_the_sender_back() -> None:
    async with door(Server(answer=b"")) as here:
        reader, writer = await here.open(
            connect("a.example", here.server.port) + hello("a.example")
        )
        await reader.readuntil(b"\r\n\r\n")
        sent = 0
        # Nobody reads what the peer echoes: sooner or later writing must wait.
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.7):
                while sent < 512 * 1024 * 1024:
                    writer.write(bytes(65536))
                    await writer.drain()
                    sent += 65536
        assert len(here.server.got) < 64 * 1024 * 1024
        writer.transport.abort()


def asking(kind: str, *argv: str, cwd: str = "/workspace") -> bytes:
    body = b"".join(word.encode("utf-8", "surrogateescape") + b"\0" for word in (kind, cwd, *argv))
    return b"POST /atoll/ask HTTP/1.1\r\nHost: d\r\nContent-Length: %d\r\n\r\n%b" % (
        len(body),
        body,
    )


RULES = Commands(operator=(("git", "push"),), sudo=(("apt-get", "install", "-y", "jq"),))


@pytest.mark.parametrize(("allow", "status"), [(True, b"200 OK"), (False, b"403 Forbidden")])
async def test_ask_waits_for_the_word_from_outside(allow: bool, status: bytes) -> None:
    async with door() as here:
        reader, writer = await here.open(asking("operator", "rm", "-rf", "x", cwd="/workspace/a"))
        told = await here.told("approval.asked")
        assert told["subject"] == {"argv": ["rm", "-rf", "x"], "cwd": "/workspace/a"}
        assert [one.id for one in here.asks.list_pending()] == [told["ask_id"]]
        here.asks.decide(str(told["ask_id"]), allow=allow)
        assert (await reader.read()).startswith(b"HTTP/1.1 " + status)
        with pytest.raises(NotFound):
            here.asks.decide(str(told["ask_id"]), allow=True)
        assert [kind for kind, _ in here.audit] == ["approval.asked"]
        writer.close()


async def test_ask_of_one_who_goes_away_is_taken_back() -> None:
    async with door() as here:
        _reader, writer = await here.open(asking("operator", "true"))
        told = await here.told("approval.asked")
        writer.close()
        # Whoever is shown it, outside, hears that nobody waits for a decision any more.
        assert await here.told("approval.withdrawn") == {"ask_id": told["ask_id"]}
        assert here.asks.list_pending() == []


async def test_command_outside_the_rules_runs_unasked_and_inside_asks() -> None:
    async with door(commands=RULES) as here:
        assert (await here.say(asking("check", "/usr/bin/git", "status"))).startswith(
            b"HTTP/1.1 200"
        )
        assert here.asks.list_pending() == []
        _reader, writer = await here.open(asking("check", "git", "-C", "x", "push", "--force"))
        told = await here.told("approval.asked")
        assert told["subject"]["argv"] == ["git", "-C", "x", "push", "--force"]  # type: ignore[index]
        writer.close()


@pytest.mark.parametrize(
    ("argv", "status"),
    [
        (("apt-get", "install", "-y", "jq"), b"200"),
        (("apt-get", "install", "-y", "jq "), b"403"),
        (("apt-get", "install", "-y jq"), b"403"),
        (("apt-get", "install", "-y", "jq", "vim"), b"403"),
        (("apt-get", "install", "-y", "jq;id"), b"403"),
        (("apt-get", "install", "-y", "jq\nid"), b"403"),
        (("apt-get", "install", "-y", "*"), b"403"),
        (("apt-get", "install", "-y", "--option=Dpkg::Pre-Invoke::=id", "jq"), b"403"),
        (("/usr/bin/apt-get", "install", "-y", "jq"), b"403"),
        (("apt-get",), b"403"),
    ],
)
async def test_sudo_takes_exact_words_only(argv: tuple[str, ...], status: bytes) -> None:
    async with door(commands=RULES) as here:
        said = await here.say(asking("sudo 7", *argv))
        assert said.startswith(b"HTTP/1.1 403 ")
        # Without a zygote the right words get as far as to the wall, which gives nothing.
        assert (b"not word for word" not in said) is (status == b"200")


@pytest.mark.parametrize("pid", ["", "1", "0", "-5", "x", "99999999999999999999", "\u0661\u0662"])
async def test_sudo_asked_by_no_process_is_refused(pid: str) -> None:
    async with door(commands=RULES) as here:
        said = await here.say(asking(f"sudo {pid}", *RULES.sudo[0]))
        assert said.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "said",
    [
        asking("operator", "echo", "a\u202eb"),
        asking("operator", "echo", "\udcff"),
        asking("operator", "x" * 3000),
        asking("nonsense", "true"),
        asking("operator")[:-1] + b"x",
        b"POST /atoll/ask HTTP/1.1\r\nHost: d\r\nContent-Length: 999999999\r\n\r\n",
        b"POST /atoll/ask HTTP/1.1\r\nHost: d\r\n\r\n",
    ],
)
async def test_ask_that_cannot_be_shown_as_it_is_is_refused(said: bytes) -> None:
    async with door() as here:
        assert (await here.say(said)).startswith(b"HTTP/1.1 400 ")
        assert here.asks.list_pending() == []


async def test_asks_beyond_what_a_person_reads_are_refused() -> None:
    async with door() as here:
        callers = [await here.open(asking("operator", "true")) for _ in range(MAX_WAITING)]
        while len(here.asks.list_pending()) < MAX_WAITING:
            here.news.clear()
            await here.news.wait()
        assert (await here.say(asking("operator", "true"))).startswith(b"HTTP/1.1 400 ")
        for _reader, writer in callers:
            writer.close()


async def test_door_itself_has_no_pages() -> None:
    async with door() as here:
        assert (await here.say(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n\r\n")).startswith(
            b"HTTP/1.1 404 "
        )
