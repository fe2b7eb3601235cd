"""The calls to a far Engine that need no compose: what is labelled is found, read and removed."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import msgspec

from atoll.domain.errors import Failed, NotFound, Unavailable
from atoll.wire.http.unreadable import UNREADABLE

CALL_SECONDS = 90.0
"""A service may take a minute to stop."""

MAX_ANSWER_BYTES = 4 * 2**20
MAX_LOG_BYTES = 64 * 1024
OLDEST_API = (1, 41)
"""Docker 20.10."""

HEAD_BYTES = 8
"""Of each piece of a log: stream, three zeros, length (Engine API, ContainerAttach)."""


class _Names(msgspec.Struct, rename="pascal", frozen=True):
    """The Engine's spelling of names."""


class EngineVersion(_Names, frozen=True):
    """Answer of `/version`."""

    version: str
    api_version: str

    @property
    def api(self) -> tuple[int, int]:
        """The newest version of the API."""
        major, _, minor = self.api_version.partition(".")
        return int(major), int(minor)


class Container(_Names, frozen=True):
    """A container of a list. `status` is the Engine's sentence: `Exited (137) 2 minutes ago`."""

    id: str
    labels: dict[str, str] | None = None
    state: str = ""
    status: str = ""


class _Network(_Names, frozen=True):
    id: str


class _Volume(_Names, frozen=True):
    name: str


class _Volumes(_Names, frozen=True):
    volumes: list[_Volume] | None = None


class _Refusal(msgspec.Struct):
    message: str = ""


@dataclass(frozen=True, slots=True)
class FarEngine:
    """An Engine behind a socket of ours. Raises `Unavailable`, `Failed` with the Engine's words."""

    session: aiohttp.ClientSession
    label: str

    async def check_version(self) -> None:
        """Check its version. Raises `Failed` for one that is too old."""
        version = msgspec.json.decode(await self._read("GET", "/version"), type=EngineVersion)
        if version.api < OLDEST_API:
            raise Failed(f"the Docker Engine of {self.label} is {version.version}: 20.10 is needed")

    async def containers(self, *labels: str) -> list[Container]:
        """Return containers with all these labels, running or not."""
        query = {"all": "1", **_label_filter(labels)}
        answer = await self._read("GET", "/containers/json", query)
        return msgspec.json.decode(answer, type=list[Container])

    async def last_lines(self, container: str) -> str:
        """Return the last lines of a container, as text."""
        query = {"stdout": "1", "stderr": "1", "tail": "20"}
        return _decode_log(await self._read("GET", f"/containers/{container}/logs", query))

    async def remove_containers(self, *labels: str) -> int:
        """Stop and remove containers with their anonymous volumes. Returns how many there were."""
        containers = await self.containers(*labels)
        running = [
            each.id for each in containers if each.state in ("running", "restarting", "paused")
        ]
        await asyncio.gather(*map(self._stop, running))
        places = [f"/containers/{each.id}" for each in containers]
        return await self._remove(places, {"force": "1", "v": "1"})

    async def _stop(self, container: str) -> None:
        """Let a container end by itself, in the time that it has for that."""
        with suppress(NotFound, Failed):
            await self._read("POST", f"/containers/{container}/stop")

    async def remove_networks(self, *labels: str) -> int:
        """Remove networks. Returns how many there were."""
        answer = await self._read("GET", "/networks", _label_filter(labels))
        networks = msgspec.json.decode(answer, type=list[_Network])
        return await self._remove([f"/networks/{each.id}" for each in networks], {})

    async def remove_volumes(self, *labels: str) -> int:
        """Remove named volumes. Returns how many there were."""
        answer = await self._read("GET", "/volumes", _label_filter(labels))
        volumes = msgspec.json.decode(answer, type=_Volumes).volumes or []
        return await self._remove([f"/volumes/{each.name}" for each in volumes], {})

    async def _remove(self, places: list[str], query: Mapping[str, str]) -> int:
        for place in places:
            try:
                await self._read("DELETE", place, query)
            except NotFound:
                continue
        return len(places)

    async def _read(self, method: str, path: str, query: Mapping[str, str] | None = None) -> bytes:
        timeout = aiohttp.ClientTimeout(total=CALL_SECONDS)
        url = f"http://docker{path}"
        try:
            async with self.session.request(method, url, params=query, timeout=timeout) as answer:
                body = b""
                while more := await answer.content.read(65536):
                    body += more
                    if len(body) > MAX_ANSWER_BYTES:
                        raise Failed(f"the Docker Engine of {self.label} answers without an end")
        except (aiohttp.ClientError, OSError, TimeoutError) as err:
            why = "no answer in time" if isinstance(err, TimeoutError) else str(err)
            raise Unavailable(
                f"the Docker Engine of {self.label} cannot be reached ({why}): it must run, and "
                "the user there must be allowed to use its socket (group `docker`)"
            ) from err
        if answer.status >= 400:
            kind = NotFound if answer.status == 404 else Failed
            raise kind(f"the Docker Engine of {self.label} refused: {_reason_of(body)}")
        return body


@asynccontextmanager
async def engine_at(path: Path, label: str) -> AsyncIterator[FarEngine]:
    """Yield the Engine behind a socket."""
    connector = aiohttp.UnixConnector(path=str(path))
    async with aiohttp.ClientSession(connector=connector) as session:
        try:
            yield FarEngine(session, label)
        except UNREADABLE as err:
            raise Failed(
                f"the Docker Engine of {label} answers what cannot be read: {err}"
            ) from err


def _label_filter(labels: tuple[str, ...]) -> dict[str, str]:
    return {"filters": json.dumps({"label": list(labels)})}


def _reason_of(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Refusal).message[:500]
    except UNREADABLE:
        return body[:200].decode(errors="replace")


def _decode_log(log: bytes) -> str:
    """Return the text of a container's log, without the headers of its frames."""
    text, log = b"", log[:MAX_LOG_BYTES]
    while len(log) > HEAD_BYTES:
        size = int.from_bytes(log[4:HEAD_BYTES], "big")
        text += log[HEAD_BYTES : HEAD_BYTES + size]
        log = log[HEAD_BYTES + size :]
    return text.decode(errors="replace").strip()
