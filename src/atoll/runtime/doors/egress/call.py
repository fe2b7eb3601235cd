"""Call at the egress door: the request is read, checked, and forwarded or refused.

Only heads, TLS hellos and body lengths are parsed. `Egress` decides. The outgoing head is written
anew from the parsed values and is never the caller's own.
"""

import asyncio
import contextlib
from dataclasses import dataclass, replace
from time import monotonic
from typing import Protocol

from atoll.domain.network.egress import Destination, Refused
from atoll.domain.network.host import canonical_host
from atoll.runtime.doors.egress.egress import Blocked, CallHandler, Egress, OpenCall, Unreachable
from atoll.runtime.doors.egress.pipe import CHUNK_BYTES, Side, Tunnel, VolumeSpent, send_eof
from atoll.runtime.doors.listener.responses import RefusalResponse
from atoll.wire.http.chunked import BadChunks, Chunks, spell_chunk
from atoll.wire.http.proxy_head import BadHead, ProxyHead, head_end, read_head, spell
from atoll.wire.http.tls_hello import Hello, NotHello, read_hello
from atoll.wire.words.networks import NetworkMode

HEAD_SECONDS = 15.0
HELLO_SECONDS = 15.0
LINGER_SECONDS = 2.0
AFTER_BODY_SECONDS = 15.0
"""Idle limit of a response after its caller sent more than one request."""

_TLS_RECORD = 22
_NAME_REFUSED = b"\x15\x03\x03\x00\x02\x02\x70"
"""A fatal alert `unrecognized_name` (RFC 8446 section 6), which clients report by name."""
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class DoorEndpoint(Protocol):
    """A handler of requests that address the door itself."""

    async def serve(self, head: ProxyHead, rest: bytes, caller: Side) -> bytes:
        """Return a whole HTTP response. Raises `OSError`, `EOFError` when the caller hangs up."""
        ...


@dataclass(slots=True)
class _EgressCall:
    """The audit record of one call."""

    to: Destination
    rule: str = ""
    outcome: str = "passed"


def make_handler(endpoint: DoorEndpoint) -> CallHandler:
    """Return a handler that serves a caller to its end and raises for nothing that a caller does.
    `endpoint` receives the requests that address the door itself."""

    async def serve(
        egress: Egress, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            await _serve_call(egress, endpoint, (reader, writer))
        except* (OSError, EOFError):
            pass  # the caller hung up: nobody is left to answer
        finally:
            writer.transport.abort()

    return serve


async def _serve_call(egress: Egress, endpoint: DoorEndpoint, inner: Side) -> None:
    try:
        head, rest = await _read_request(inner[0])
        if not head.host:
            inner[1].write(await endpoint.serve(head, rest, inner))
            await _close_politely(inner)
            return
        to = _read_destination(head)
    except TimeoutError:
        await _answer(
            inner, RefusalResponse("408 Request Timeout", "timeout", "no whole request came")
        )
        return
    except BadHead as err:
        egress.record("door.refused", {"code": "bad_request", "detail": str(err)})
        await _answer(inner, RefusalResponse("400 Bad Request", "bad_request", str(err)))
        return
    started, call = monotonic(), _EgressCall(to)
    try:
        call.rule = egress.admit(to).rule
        address, outer = await egress.dial(to)
    except Blocked as err:
        await _refuse(egress, inner, to, err.verdict)
        return
    except Unreachable as err:
        call.outcome = "unreachable"
        egress.record("door.request", _audit_entry(call, None, started))
        await _answer(inner, RefusalResponse("502 Bad Gateway", "unreachable", str(err)))
        return
    pipe = Tunnel(inner, outer, egress.spend)
    try:
        await _carry(egress, pipe, call, address=address, head=head, rest=rest)
    finally:
        pipe.outer[1].transport.abort()
        egress.record("door.request", _audit_entry(call, pipe, started))
    await _close_politely(inner)


async def _carry(
    egress: Egress, pipe: Tunnel, call: _EgressCall, *, address: str, head: ProxyHead, rest: bytes
) -> None:
    """Forward the call until it ends. The reason for an early end is its outcome."""

    def cut(verdict: Refused) -> None:
        call.outcome = verdict.code
        pipe.cut()

    opened = OpenCall(call.to, address, cut)
    try:
        egress.hold(opened)
    except Blocked as err:
        call.outcome = err.verdict.code
        await _refuse(egress, pipe.inner, call.to, err.verdict)
        return
    try:
        with pipe.watched():
            if head.path is None:
                await _tunnel(egress, pipe, call, rest=rest)
            else:
                await _exchange(pipe, call, head=head, rest=rest)
    finally:
        egress.release(opened)
        if pipe.idled:
            call.outcome = "idle"


async def _read_request(reader: asyncio.StreamReader) -> tuple[ProxyHead, bytes]:
    """Return the request's head and the bytes after it. Raises `BadHead`, `TimeoutError`."""
    data = b""
    async with asyncio.timeout(HEAD_SECONDS):
        while (at := head_end(data)) is None:
            more = await reader.read(CHUNK_BYTES)
            if not more:
                raise ConnectionError
            data += more
    return read_head(data[:at]), data[at:]


def _read_destination(head: ProxyHead) -> Destination:
    try:
        host = canonical_host(head.host)
    except ValueError as err:
        raise BadHead(f"{head.host!r:.120} is no host in its plain spelling") from err
    method = None if head.path is None else head.method
    return Destination(host, head.port, method, head.path)


async def _tunnel(egress: Egress, pipe: Tunnel, call: _EgressCall, *, rest: bytes) -> None:
    writer = pipe.inner[1]
    writer.write(_ESTABLISHED)
    await writer.drain()
    strict = egress.policy.mode is NetworkMode.LIMITED

    async def opening() -> bytes:
        return await _read_hello(egress, pipe.inner, call.to, first=rest, strict=strict)

    verdict: Refused | None = None
    try:
        if strict:
            await pipe.tunnel(await opening())
        else:
            await pipe.tunnel(opening=opening)
    except* Blocked as group:
        verdict = _first_verdict(group)
    except* VolumeSpent:
        call.outcome = "volume_spent"
        _record_refusal(egress, call.to, Refused("volume_spent", "this hour's bytes are used up"))
    except* OSError:
        call.outcome = "cut_short"
    # Not in its handler, which would wrap a cancellation in a group.
    if verdict is not None:
        call.outcome = verdict.code
        _record_refusal(egress, call.to, verdict)
        await _send_alert(pipe.inner)


def _first_verdict(group: BaseExceptionGroup[Blocked]) -> Refused:
    first = group.exceptions[0]
    assert isinstance(first, Blocked)  # noqa: S101  raised by nothing else
    return first.verdict


async def _read_hello(
    egress: Egress, inner: Side, to: Destination, *, first: bytes, strict: bool
) -> bytes:
    """Return the caller's first bytes after a check that their TLS hello names the requested host.
    Other protocols pass unless `strict`. Raises `Blocked`."""
    data = first
    try:
        async with asyncio.timeout(HELLO_SECONDS if strict else None):
            while (hello := _parse_hello(data, strict=strict)) is None:
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
    _check_hello(egress, to, hello, strict=strict)
    return data


def _parse_hello(data: bytes, *, strict: bool) -> Hello | None:
    if not strict and data and data[0] != _TLS_RECORD:
        raise NotHello("not TLS")
    return read_hello(data)


def _check_hello(egress: Egress, to: Destination, hello: Hello, *, strict: bool) -> None:
    """Raise `Blocked` for a hello that names another host than the checked one."""
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


async def _send_alert(inner: Side) -> None:
    with contextlib.suppress(OSError):
        inner[1].write(_NAME_REFUSED)
        await _close_politely(inner)


async def _exchange(pipe: Tunnel, call: _EgressCall, *, head: ProxyHead, rest: bytes) -> None:
    """Forward one plain HTTP request and its response."""
    usual = call.to.port == 80
    authority = call.to.authority.removesuffix(":80") if usual else call.to.authority
    try:
        async with asyncio.TaskGroup() as tasks:
            sending = tasks.create_task(
                _send_request(pipe, spell(head, authority=authority), head, rest=rest)
            )
            await pipe.forward_response()
            sending.cancel()
    except* VolumeSpent:
        call.outcome = "volume_spent"
    except* BadChunks:
        call.outcome = "bad_request"
    except* OSError:
        call.outcome = "cut_short"


async def _send_request(pipe: Tunnel, spelled: bytes, head: ProxyHead, *, rest: bytes) -> None:
    """Send the request, then wait for the caller to hang up, which ends the call."""
    await pipe.send(spelled)
    over = await (
        _send_chunked(pipe, rest) if head.chunked else _send_counted(pipe, head.length or 0, rest)
    )
    if over:
        pipe.set_idle_limit(AFTER_BODY_SECONDS)
        return
    if await pipe.inner[0].read(1):
        # The caller expects a kept connection. There is none: further requests are not forwarded.
        pipe.set_idle_limit(AFTER_BODY_SECONDS)
        return
    raise ConnectionError("the caller hung up")


async def _send_counted(pipe: Tunnel, length: int, rest: bytes) -> bytes:
    """Send exactly `length` bytes of body. Returns the bytes beyond them."""
    data = rest
    while length > 0:
        if not data:
            data = await pipe.inner[0].read(CHUNK_BYTES)
            if not data:
                raise ConnectionError("the caller hung up")
        part, data = data[:length], data[length:]
        await pipe.send(part)
        length -= len(part)
    return data


async def _send_chunked(pipe: Tunnel, rest: bytes) -> bytes:
    """Send a chunked body, chunked anew. Returns the bytes beyond it."""
    chunks, data = Chunks(), rest
    while True:
        if part := chunks.feed(data):
            await pipe.send(spell_chunk(part))
        if chunks.done:
            await pipe.send(spell_chunk(b""))
            return chunks.rest
        data = await pipe.inner[0].read(CHUNK_BYTES)
        if not data:
            raise ConnectionError("the caller hung up")


async def _refuse(egress: Egress, inner: Side, to: Destination, verdict: Refused) -> None:
    _record_refusal(egress, to, verdict)
    remedy = egress.remedy(to, verdict)
    detail = f"{verdict.detail}. To allow it: {remedy}" if remedy else verdict.detail
    # Most clients show only the status phrase of a proxy's refusal.
    phrase = f"403 Blocked by Atoll ({remedy or verdict.code})"
    await _answer(inner, RefusalResponse(phrase, verdict.code, detail))


def _record_refusal(egress: Egress, to: Destination, verdict: Refused) -> None:
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


def _audit_entry(call: _EgressCall, pipe: Tunnel | None, started: float) -> dict[str, object]:
    return {
        "host": call.to.host,
        "port": call.to.port,
        "method": (call.to.method or "CONNECT")[:16],
        "rule": call.rule,
        "outcome": call.outcome,
        "bytes_in": 0 if pipe is None else pipe.sent,
        "bytes_out": 0 if pipe is None else pipe.received,
        "milliseconds": round((monotonic() - started) * 1000),
    }


async def _answer(inner: Side, why: RefusalResponse) -> None:
    inner[1].write(why.encode())
    await _close_politely(inner)


async def _close_politely(inner: Side) -> None:
    """Send an end of file and read on for a moment. An immediate close could destroy the response
    in transit (RFC 9112 section 9.6)."""
    await inner[1].drain()
    send_eof(inner[1])
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(LINGER_SECONDS):
            while await inner[0].read(CHUNK_BYTES):
                pass
