"""Calls of the Worker in `deploy/cloudflare`, by HTTP. An answer is half an answer until read."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import aiohttp
import msgspec

from atoll.adapters.rented.calls import (
    NOT_FOUND,
    USUAL,
    Patience,
    TemporaryRefusal,
    call_with_retries,
    clean,
    error_of_status,
    wanted_pause,
)
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.ports.extension import VendorKey

MAX_ANSWER_BYTES = 4 * 1024 * 1024
MAX_MESSAGE_BYTES = 1024 * 1024
_REFUSALS = {429, 500, 503}
_T = TypeVar("_T")


class Problem(msgspec.Struct, frozen=True):
    """A refusal as the Worker and the bridge spell it."""

    error: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A call. `what` names it in messages."""

    what: str
    method: str
    path: str
    body: object | bytes | None = None


@dataclass(frozen=True, slots=True)
class Worker:
    """A Worker and the key to it. Raises what `rented.vendor.Vendor` says."""

    url: str
    key: VendorKey
    patience: Patience = USUAL

    async def call(self, call: Call, kind: type[_T]) -> _T:
        """Return the decoded answer to a call; a temporary refusal is retried."""

        async def act() -> _T:
            text = await self._send(call)
            try:
                return msgspec.json.decode(text, type=kind)
            except msgspec.DecodeError as error:
                raise Unavailable(f"{call.what} failed: half an answer came") from error

        return await self._retry(call, act)

    async def text(self, call: Call) -> bytes:
        """Return the bytes of the answer to a call."""
        return await self._retry(call, lambda: self._send(call))

    @asynccontextmanager
    async def socket(self, what: str, path: str) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """Yield a WebSocket."""

        async def open_socket() -> aiohttp.ClientWebSocketResponse:
            try:
                return await session.ws_connect(
                    self.url + path, headers=self._headers(), max_msg_size=MAX_MESSAGE_BYTES
                )
            except aiohttp.WSServerHandshakeError as error:
                raise self._refusal(what, error.status, b"") from error
            except (aiohttp.ClientError, OSError) as error:
                raise Unavailable(f"{what} failed: {self._without_key(str(error))}") from error

        async with aiohttp.ClientSession() as session:
            socket = await call_with_retries(what, open_socket, patience=self.patience)
            async with socket:
                yield socket

    async def _retry(self, call: Call, act: Callable[[], Awaitable[_T]]) -> _T:
        if not self.key.value:
            raise Failed("the key of ext.cloudflare is empty")
        reads = call.method == "GET"
        return await call_with_retries(call.what, act, patience=self.patience, only_reads=reads)

    async def _send(self, call: Call) -> bytes:
        content = call.body
        body = content if isinstance(content, bytes | None) else json.dumps(content).encode()
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.request(
                    call.method, self.url + call.path, data=body, headers=self._headers()
                ) as answer,
            ):
                text = bytearray()
                async for chunk in answer.content.iter_any():
                    text += chunk
                    if len(text) > MAX_ANSWER_BYTES:
                        raise Failed(f"{call.what} failed: an answer without an end")
        except (aiohttp.ClientError, OSError) as error:
            raise Unavailable(f"{call.what} failed: {self._without_key(str(error))}") from error
        if answer.ok:
            return bytes(text)
        refusal = self._refusal(call.what, answer.status, bytes(text))
        if isinstance(refusal, TemporaryRefusal):
            refusal.after = wanted_pause(answer.headers)
        raise refusal

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key.value}"}

    def _refusal(self, what: str, status: int, text: bytes) -> AtollError:
        try:
            problem = msgspec.json.decode(text, type=Problem)
        except msgspec.DecodeError:
            problem = Problem(text.decode(errors="replace"))
        words = f"{what} failed: {self._without_key(problem.error or f'status {status}')}"
        if status == NOT_FOUND and problem.code not in ("gone", ""):
            return Failed(words)
        return error_of_status(status, _REFUSALS)(words)

    def _without_key(self, words: str) -> str:
        """Return a server's words without the key: it may send it back."""
        return clean(words or "no reason given", self.key.value)
