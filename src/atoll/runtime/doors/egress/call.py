"""One caller at the egress door: its request read, judged, and carried out or refused.

Reads no more than a head, a hello and bodies' lengths. Decisions are `Egress`'s; what goes out
is written anew from what was read, never the caller's own head.
"""

import asyncio
import contextlib
from dataclasses import dataclass, replace
from time import monotonic
from typing import Protocol

from atoll.domain.network.egress import Destination, Refused
from atoll.domain.network.host import canonical_host
from atoll.domain.profile.profile import NetworkMode
from atoll.runtime.doors.egress.egress import Blocked, Egress, Open, Serve, Unreachable
from atoll.runtime.doors.egress.pipe import CHUNK_BYTES, Pipe, Side, Spent, end
from atoll.runtime.doors.listener.responses import Closed
from atoll.wire.http.chunked import BadChunks, Chunks, spell_chunk
from atoll.wire.http.proxy_head import BadHead, ProxyHead, head_end, read_head, spell
from atoll.wire.http.tls_hello import Hello, NotHello, read_hello

HEAD_SECONDS = 15.0
HELLO_SECONDS = 15.0
LINGER_SECONDS = 2.0
AFTER_BODY_SECONDS = 15.0
"""How long an answer may stall once its caller already said more than one request."""

_TLS_RECORD = 22
_NAME_REFUSED = b"\x15\x03\x03\x00\x02\x02\x70"
"""A fatal alert `unrecognized_name` (RFC 8446 section 6), so that a client says what is wrong."""
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Desk(Protocol):
    """Answers requests to the door itself."""

    async def serve(self, head: ProxyHead, rest: bytes, caller: Side) -> bytes:
        """A whole HTTP answer. Raises `OSError`, `EOFError` when the caller went away."""
        ...


@dataclass(slots=True)
class _Told:
    """One call's record for the audit."""

    to: Destination
    rule: str = ""
    outcome: str = "passed"


def serving(desk: Desk) -> Serve:
    """What serves a caller of the door to its end; nothing the caller does raises. `desk` gets
    the requests to the door itself."""

    async def serve(
        egress: Egress, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            await _served(egress, desk, (reader, writer))
        except* (OSError, EOFError):
            pass  # the caller went away: nobody is left to be told
        finally:
            writer.transport.abort()

    return serve


async def _served(egress: Egress, desk: Desk, inner: Side) -> None:
    try:
        head, rest = await _head(inner[0])
        if not head.host:
            inner[1].write(await desk.serve(head, rest, inner))
            await _part(inner)
            return
        to = _destination(head)
    except TimeoutError:
        await _answer(inner, Closed("408 Request Timeout", "timeout", "no whole request came"))
        return
    except BadHead as err:
        egress.record("door.refused", {"code": "bad_request", "detail": str(err)})
        await _answer(inner, Closed("400 Bad Request", "bad_request", str(err)))
        return
    started, told = monotonic(), _Told(to)
    try:
        told.rule = egress.admit(to).rule
        address, outer = await egress.dial(to)
    except Blocked as err:
        await _refuse(egress, inner, to, err.verdict)
        return
    except Unreachable as err:
        told.outcome = "unreachable"
        egress.record("door.request", _entry(told, None, started))
        await _answer(inner, Closed("502 Bad Gateway", "unreachable", str(err)))
        return
    pipe = Pipe(inner, outer, egress.spend)
    try:
        await _carry(egress, pipe, told, address=address, head=head, rest=rest)
    finally:
        pipe.outer[1].transport.abort()
        egress.record("door.request", _entry(told, pipe, started))
    await _part(inner)


async def _carry(
    egress: Egress, pipe: Pipe, told: _Told, *, address: str, head: ProxyHead, rest: bytes
) -> None:
    """Hold the way open while it is used; what ends it early is the outcome."""

    def cut(verdict: Refused) -> None:
        told.outcome = verdict.code
        pipe.cut()

    one = Open(told.to, address, cut)
    try:
        egress.hold(one)
    except Blocked as err:
        told.outcome = err.verdict.code
        await _refuse(egress, pipe.inner, told.to, err.verdict)
        return
    try:
        with pipe.watched():
            if head.path is None:
                await _tunnel(egress, pipe, told, rest=rest)
            else:
                await _exchange(pipe, told, head=head, rest=rest)
    finally:
        egress.release(one)
        if pipe.idled:
            told.outcome = "idle"


async def _head(reader: asyncio.StreamReader) -> tuple[ProxyHead, bytes]:
    """The request's head, and what came with it. Raises `BadHead`, `TimeoutError`."""
    data = b""
    async with asyncio.timeout(HEAD_SECONDS):
        while (at := head_end(data)) is None:
            more = await reader.read(CHUNK_BYTES)
            if not more:
                raise ConnectionError
            data += more
    return read_head(data[:at]), data[at:]


def _destination(head: ProxyHead) -> Destination:
    try:
        host = canonical_host(head.host)
    except ValueError as err:
        raise BadHead(f"{head.host!r:.120} is no host in its plain spelling") from err
    method = None if head.path is None else head.method
    return Destination(host, head.port, method, head.path)


async def _tunnel(egress: Egress, pipe: Pipe, told: _Told, *, rest: bytes) -> None:
    writer = pipe.inner[1]
    writer.write(_ESTABLISHED)
    await writer.drain()
    strict = egress.policy.mode is NetworkMode.LIMITED

    async def opening() -> bytes:
        return await _looked_at(egress, pipe.inner, told.to, first=rest, strict=strict)

    try:
        if strict:
            await pipe.tunnel(await opening())
        else:
            await pipe.tunnel(opening=opening)
    except* Blocked as group:
        verdict = _verdict(group)
        told.outcome = verdict.code
        _tell(egress, told.to, verdict)
        await _alert(pipe.inner)
    except* Spent:
        told.outcome = "volume_spent"
        _tell(egress, told.to, Refused("volume_spent", "this hour's bytes are used up"))
    except* OSError:
        told.outcome = "cut_short"


def _verdict(group: BaseExceptionGroup[Blocked]) -> Refused:
    first = group.exceptions[0]
    assert isinstance(first, Blocked)  # noqa: S101  raised by nothing else
    return first.verdict


async def _looked_at(
    egress: Egress, inner: Side, to: Destination, *, first: bytes, strict: bool
) -> bytes:
    """The caller's first bytes, after their hello was found to name the host it asked for.
    When not `strict`, what is not TLS passes. Raises `Blocked`."""
    data = first
    try:
        async with asyncio.timeout(HELLO_SECONDS if strict else None):
            while (hello := _hello(data, strict=strict)) is None:
                more = await inner[0].read(CHUNK_BYTES)
                if not more:
                    raise NotHello("the hello broke off")
                data += more
    except TimeoutError:
        raise Blocked(Refused("no_hello", f"{to.authority} was opened and no TLS came")) from None
    except NotHello as err:
        if strict:
            raise Blocked(
                Refused("no_hello", f"to {to.authority} only TLS may pass: {err}")
            ) from None
        return data
    _compare(egress, to, hello, strict=strict)
    return data


def _hello(data: bytes, *, strict: bool) -> Hello | None:
    if not strict and data and data[0] != _TLS_RECORD:
        raise NotHello("not TLS")
    return read_hello(data)


def _compare(egress: Egress, to: Destination, hello: Hello, *, strict: bool) -> None:
    """Raises `Blocked` for a hello that means another host than was judged."""
    name = None if hello.server_name is None else hello.server_name.removesuffix(".")
    if strict and hello.encrypted:
        detail = "Encrypted ClientHello hides the host that is meant: turn it off in the client"
        raise Blocked(Refused("encrypted_hello", detail))
    if strict and name != to.host:
        shown = "no host" if name is None else f"{name!r:.120}"
        raise Blocked(Refused("sni_mismatch", f"opened {to.host}, but the TLS hello names {shown}"))
    if egress.policy.mode is NetworkMode.FULL and name is not None and name != to.host:
        with contextlib.suppress(ValueError):
            egress.admit(replace(to, host=canonical_host(name)))


async def _alert(inner: Side) -> None:
    with contextlib.suppress(OSError):
        inner[1].write(_NAME_REFUSED)
        await _part(inner)


async def _exchange(pipe: Pipe, told: _Told, *, head: ProxyHead, rest: bytes) -> None:
    """One plain HTTP request and its answer."""
    usual = told.to.port == 80
    authority = told.to.authority.removesuffix(":80") if usual else told.to.authority
    try:
        async with asyncio.TaskGroup() as ways:
            asking = ways.create_task(_ask(pipe, spell(head, authority=authority), head, rest=rest))
            await pipe.back()
            asking.cancel()
    except* Spent:
        told.outcome = "volume_spent"
    except* BadChunks:
        told.outcome = "bad_request"
    except* OSError:
        told.outcome = "cut_short"


async def _ask(pipe: Pipe, spelled: bytes, head: ProxyHead, *, rest: bytes) -> None:
    """Send the request; then its caller may only go away, which ends the call."""
    await pipe.send(spelled)
    over = await (_chunked(pipe, rest) if head.chunked else _counted(pipe, head.length or 0, rest))
    if over:
        pipe.hurry(AFTER_BODY_SECONDS)
        return
    if await pipe.inner[0].read(1):
        # It believes the connection stays: it does not, and what it said is not passed on.
        pipe.hurry(AFTER_BODY_SECONDS)
        return
    raise ConnectionError("the caller went away")


async def _counted(pipe: Pipe, length: int, rest: bytes) -> bytes:
    """Send exactly `length` bytes of body; returns what came beyond them."""
    data = rest
    while length > 0:
        if not data:
            data = await pipe.inner[0].read(CHUNK_BYTES)
            if not data:
                raise ConnectionError("the caller went away")
        part, data = data[:length], data[length:]
        await pipe.send(part)
        length -= len(part)
    return data


async def _chunked(pipe: Pipe, rest: bytes) -> bytes:
    """Send a chunked body anew; returns what came beyond it."""
    chunks, data = Chunks(), rest
    while True:
        if part := chunks.feed(data):
            await pipe.send(spell_chunk(part))
        if chunks.done:
            await pipe.send(spell_chunk(b""))
            return chunks.rest
        data = await pipe.inner[0].read(CHUNK_BYTES)
        if not data:
            raise ConnectionError("the caller went away")


async def _refuse(egress: Egress, inner: Side, to: Destination, verdict: Refused) -> None:
    _tell(egress, to, verdict)
    remedy = egress.remedy(to, verdict)
    detail = f"{verdict.detail}. To allow it: {remedy}" if remedy else verdict.detail
    # The phrase is all that most clients show of a proxy's refusal.
    phrase = f"403 Blocked by Atoll ({remedy or verdict.code})"
    await _answer(inner, Closed(phrase, verdict.code, detail))


def _tell(egress: Egress, to: Destination, verdict: Refused) -> None:
    egress.record(
        "door.refused",
        {
            "host": to.host,
            "port": to.port,
            "method": (to.method or "CONNECT")[:16],
            "code": verdict.code,
            "detail": verdict.detail[:300],
            "allow": egress.remedy(to, verdict),
        },
    )


def _entry(told: _Told, pipe: Pipe | None, started: float) -> dict[str, object]:
    return {
        "host": told.to.host,
        "port": told.to.port,
        "method": (told.to.method or "CONNECT")[:16],
        "rule": told.rule,
        "outcome": told.outcome,
        "bytes_in": 0 if pipe is None else pipe.sent,
        "bytes_out": 0 if pipe is None else pipe.received,
        "milliseconds": round((monotonic() - started) * 1000),
    }


async def _answer(inner: Side, why: Closed) -> None:
    inner[1].write(why.answer())
    await _part(inner)


async def _part(inner: Side) -> None:
    """Say the end and read on for a moment: to close at once would take away what was just said
    (RFC 9112 section 9.6)."""
    await inner[1].drain()
    end(inner[1])
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(LINGER_SECONDS):
            while await inner[0].read(CHUNK_BYTES):
                pass
