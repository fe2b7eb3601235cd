"""The calls of the Docker Engine API that the extension needs, over its unix socket.

It knows HTTP and the Engine's words, not what a sandbox is. Only a daemon of this machine is
spoken to: whoever holds that socket is root there.
"""

import json
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

import aiohttp
import msgspec

from atoll.adapters.extensions.docker.settings import DEFAULT_HOST
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Failed,
    Forbidden,
    Invalid,
    NotFound,
    Unavailable,
)
from atoll.wire.http.unreadable import UNREADABLE

OLDEST_API = (1, 41)
"""Docker 20.10."""

CALL_SECONDS = 30.0
STREAM_SECONDS = 900.0
"""For an image to be pulled or loaded."""

MAX_ANSWER_BYTES = 4 * 2**20
_NO_BASE = "http://docker"
_CLASSES: dict[int, type[AtollError]] = {
    400: Invalid,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
}

T = TypeVar("T")


class _EngineNames(msgspec.Struct, rename="pascal"):
    """A part of the Engine's answers: names in its own spelling, unknown ones skipped."""


class Version(_EngineNames):
    """Answer of `/version`."""

    version: str
    api_version: str


class Info(_EngineNames):
    """Answer of `/info`: what the daemon can bound."""

    security_options: list[str] | None = None
    memory_limit: bool = True
    swap_limit: bool = True
    cpu_cfs_quota: bool = True
    pids_limit: bool = True
    cores: int = msgspec.field(name="NCPU", default=0)

    def has(self, option: str) -> bool:
        """Return whether a security option is on (`seccomp`, `rootless`, `userns`, `apparmor`)."""
        named = (each.split(",")[0] for each in self.security_options or ())
        return f"name={option}" in named


class ImageConfig(_EngineNames):
    """The settings that an image brings for its containers."""

    env: list[str] | None = None
    volumes: dict[str, msgspec.Raw] | None = None
    on_build: list[str] | None = None


class Image(_EngineNames):
    """An image the daemon has."""

    id: str
    config: ImageConfig | None = None


class ListedImage(_EngineNames):
    """An image in a list. `created` is in seconds since 1970."""

    id: str
    created: int = 0
    size: int = 0
    repo_tags: list[str] | None = None


class CreatedContainer(_EngineNames):
    """A container that was made and not started."""

    id: str
    warnings: list[str] | None = None


class ContainerState(_EngineNames):
    """State of a container, or how it ended."""

    status: str = ""
    running: bool = False
    exit_code: int = 0
    o_o_m_killed: bool = msgspec.field(name="OOMKilled", default=False)
    error: str = ""


class ContainerLabels(_EngineNames):
    """The part of a container's own settings that we put there."""

    labels: dict[str, str] | None = None


class Inspection(_EngineNames):
    """A container as the Engine inspects it."""

    id: str
    state: ContainerState
    config: ContainerLabels
    image: str = ""


class ListedContainer(_EngineNames):
    """A container in a list."""

    id: str
    names: list[str]
    labels: dict[str, str] | None = None
    state: str = ""


class _ExitStatus(_EngineNames):
    status_code: int


class _Refusal(msgspec.Struct):
    message: str = ""


class ProgressDetail(msgspec.Struct):
    """Bytes of one layer."""

    current: int = 0
    total: int = 0


class ProgressLine(msgspec.Struct, rename="camel"):
    """A line of a pull, load, import or build."""

    status: str = ""
    stream: str = ""
    error: str = ""
    id: str = ""
    progress_detail: ProgressDetail = msgspec.field(default_factory=ProgressDetail)


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """A build: the image's name, the tar of the folder, and whether steps done before are
    done again."""

    tag: str
    context: BinaryIO
    again: bool = False


def socket_path(host: str) -> Path:
    """Return the socket of a `docker_host`. Raises `Invalid` for anything but `unix:///path`."""
    if not host.startswith("unix:///"):
        raise Invalid(
            f"docker_host is {host[:80]!r}: only a daemon of this machine, `unix:///path`, can "
            "hold sandboxes",
            field="docker_host",
        )
    return Path(host.removeprefix("unix://"))


@dataclass(slots=True)
class Engine:
    """The client of one daemon. Every call raises `Unavailable` when the daemon does not answer,
    else the error that its status code maps to (`NotFound`, `Conflict`, `Invalid`, `Failed`)."""

    host: str = DEFAULT_HOST
    _session: aiohttp.ClientSession | None = None
    _api: str = ""

    async def version(self) -> Version:
        """Return the daemon's version. Raises `Failed` for one that is too old."""
        version = await self._json("GET", "/version", Version, versioned=False)
        major, _dot, minor = version.api_version.partition(".")
        if (int(major), int(minor)) < OLDEST_API:
            raise Failed(
                f"the Docker daemon at {self.host} is {version.version}: 20.10 or newer is needed"
            )
        self._api = f"/v{version.api_version}"
        return version

    async def info(self) -> Info:
        """Return what the daemon can bound."""
        return await self._json("GET", "/info", Info)

    async def image(self, reference: str) -> Image | None:
        """Return the image, None when the daemon does not have it."""
        try:
            return await self._json("GET", f"/images/{_quote(reference)}/json", Image)
        except NotFound:
            return None

    async def images(self, reference: str) -> list[ListedImage]:
        """Return the images with a name like `reference`."""
        query = {"filters": json.dumps({"reference": [reference]})}
        return await self._json("GET", "/images/json", list[ListedImage], query)

    async def remove_image(self, reference: str) -> None:
        """Remove a name of an image, and the image with its last name. A missing one is not an
        error. Raises `Conflict` while a container uses it."""
        with suppress(NotFound):
            await self._call("DELETE", f"/images/{_quote(reference)}")

    async def build(
        self, building: BuildRequest, limits: Mapping[str, str]
    ) -> AsyncIterator[ProgressLine]:
        """Run the classic builder and yield its output. Closing the iterator ends the build. Raises
        `Failed` with its message."""
        query = {
            "t": building.tag,
            "dockerfile": "Dockerfile",
            "version": "1",
            "rm": "1",
            "forcerm": "1",
            "nocache": "1" if building.again else "0",
            **limits,
        }
        async for line in self._progress("/build", query, building.context, seconds=None):
            yield line

    async def pull(self, repository: str, tag: str) -> AsyncIterator[ProgressLine]:
        """Have the daemon fetch an image, and yield its progress. Raises `Failed` with the daemon's
        message."""
        query = {"fromImage": repository, **({"tag": tag} if tag else {})}
        async for line in self._progress("/images/create", query):
            yield line

    async def load(self, archive: AsyncIterable[bytes]) -> list[str]:
        """Load an archive of images (`docker save`), which moves every tag it names. Returns the
        names of the images."""
        lines = self._progress("/images/load", {"quiet": "1"}, archive)
        return [line.stream async for line in lines]

    async def import_tree(self, archive: BinaryIO, repository: str, tag: str) -> None:
        """Make an image of the tar of a root tree."""
        query = {"fromSrc": "-", "repo": repository, "tag": tag}
        async for _line in self._progress("/images/create", query, archive):
            pass

    async def tag(self, reference: str, repository: str, tag: str) -> None:
        """Give an image another name."""
        path = f"/images/{_quote(reference)}/tag"
        await self._call("POST", path, {"repo": repository, "tag": tag})

    async def create(self, name: str, body: bytes) -> CreatedContainer:
        """Make a container. Raises `Conflict` when the name is taken."""
        return await self._json(
            "POST", "/containers/create", CreatedContainer, {"name": name}, body
        )

    async def start(self, container: str) -> None:
        """Start a container; a running one is not an error."""
        await self._call("POST", f"/containers/{container}/start")

    async def update(self, container: str, body: bytes) -> None:
        """Change the limits of a container."""
        async with self._answer("POST", f"/containers/{container}/update", body=body):
            pass

    async def exit_code(self, container: str) -> int:
        """Wait, without a limit, for a container's end. Returns its exit code."""
        path = f"/containers/{container}/wait"
        return (await self._json("POST", path, _ExitStatus, seconds=None)).status_code

    async def inspect(self, container: str) -> Inspection:
        """Inspect a container."""
        return await self._json("GET", f"/containers/{container}/json", Inspection)

    async def containers(self, label: str) -> list[ListedContainer]:
        """Return every container with a label (`key=value`), running or not."""
        query = {"all": "1", "filters": json.dumps({"label": [label]})}
        return await self._json("GET", "/containers/json", list[ListedContainer], query)

    async def remove(self, container: str) -> bool:
        """Kill and remove a container with its anonymous volumes. Returns False when it does not
        exist. Raises `Conflict` while another caller removes it."""
        try:
            await self._call("DELETE", f"/containers/{container}", {"force": "1", "v": "1"})
        except NotFound:
            return False
        return True

    @asynccontextmanager
    async def events(self, filters: Mapping[str, list[str]]) -> AsyncIterator[aiohttp.StreamReader]:
        """Yield the daemon's events as lines of JSON, from now on."""
        query = {"filters": json.dumps(filters)}
        async with self._answer("GET", "/events", query, seconds=None) as answer:
            yield answer.content

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _progress(
        self,
        path: str,
        query: Mapping[str, str],
        archive: BinaryIO | AsyncIterable[bytes] | None = None,
        *,
        seconds: float | None = STREAM_SECONDS,
    ) -> AsyncIterator[ProgressLine]:
        """Yield the lines of a long operation. Raises `Failed` with the daemon's message."""
        async with self._answer("POST", path, query, archive, seconds=seconds) as answer:
            try:
                async for line in answer.content:
                    message = (
                        msgspec.json.decode(line, type=ProgressLine)
                        if line.strip()
                        else ProgressLine()
                    )
                    if message.error:
                        raise Failed(f"the Docker daemon says: {message.error}")
                    yield message
            except (*UNREADABLE, ValueError) as err:
                raise Failed(f"the Docker daemon's answer cannot be read: {err}") from err

    async def _json(
        self,
        method: str,
        path: str,
        kind: type[T],
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        *,
        versioned: bool = True,
        seconds: float | None = CALL_SECONDS,
    ) -> T:
        async with self._answer(
            method, path, query, body, seconds=seconds, versioned=versioned
        ) as answer:
            text = await answer.content.read(MAX_ANSWER_BYTES)
            while len(text) < MAX_ANSWER_BYTES and (more := await answer.content.read(65536)):
                text += more
        try:
            return msgspec.json.decode(text, type=kind)
        except UNREADABLE as err:
            raise Failed(f"the Docker daemon's answer to {path} cannot be read: {err}") from err

    async def _call(self, method: str, path: str, query: Mapping[str, str] | None = None) -> None:
        async with self._answer(method, path, query):
            pass

    @asynccontextmanager
    async def _answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: bytes | BinaryIO | AsyncIterable[bytes] | None = None,
        *,
        seconds: float | None = CALL_SECONDS,
        versioned: bool = True,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if versioned and not self._api:
            await self.version()
        url = _NO_BASE + (self._api if versioned else "") + path
        headers = {"Content-Type": "application/json"} if isinstance(body, bytes) else {}
        try:
            async with self._open_session().request(
                method,
                url,
                params=query,
                data=body,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=seconds),
            ) as answer:
                if answer.status >= 400:
                    raise _refusal_error(answer.status, await answer.content.read(65536))
                yield answer
        except (aiohttp.ClientError, OSError, TimeoutError) as err:
            self._api = ""  # the next daemon may be another version
            why = "no answer in time" if isinstance(err, TimeoutError) else str(err)
            raise Unavailable(
                f"the Docker daemon at {self.host} cannot be reached ({why}): start it; running "
                "sandboxes are not touched by its absence"
            ) from err

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            connector = aiohttp.UnixConnector(path=str(socket_path(self.host)))
            self._session = aiohttp.ClientSession(connector=connector)
        return self._session


def _quote(reference: str) -> str:
    """Return a reference as one part of a path: slashes and colons are the Engine's own."""
    from urllib.parse import quote

    return quote(reference, safe="/:@.-_")


def _refusal_error(status: int, body: bytes) -> AtollError:
    try:
        why = msgspec.json.decode(body, type=_Refusal).message
    except UNREADABLE:
        why = body[:200].decode(errors="replace")
    kind = _CLASSES.get(status, Failed)
    return kind(f"the Docker daemon refused ({status}): {why or 'it gave no reason'}")
