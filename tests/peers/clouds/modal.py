"""A peer of Modal, by the `ModalClientBase` of Modal's own wheel: what its library, unmodified,
calls for sandboxes. Machines are namespaces of this machine.
"""

import asyncio
import base64
import json
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from grpclib import GRPCError, Status
from grpclib.server import Server
from modal._utils.grpc_utils import custom_detail_codec
from modal_proto import api_pb2 as pb
from modal_proto.api_grpc import ModalClientBase

from tests.peers.clouds.faults import Call, Fault, Faults
from tests.peers.clouds.machine import Machine
from tests.peers.clouds.modal_processes import Router, Task, defaults

TOKEN, SECRET = "ak-0123456789", "as-0123456789abcdef-canary-of-the-vendors-key"
KEY = f"{TOKEN}:{SECRET}"
PAGE = 500
APP = "ap-0123456789abcdefghijkl"
IMAGES = {"im-known": "known"}
BLOCKED = pb.NetworkAccess.NetworkAccessType.BLOCKED


@dataclass
class Sold:
    """A machine that is rented; `task.machine` is None for one that only stands in the list."""

    id: str
    body: Any
    tags: dict[str, str]
    created: float
    task: Task

    @property
    def machine(self) -> Machine | None:
        """What stands for it."""
        return self.task.machine

    @property
    def is_closed(self) -> bool:
        """Whether it was asked for without a network."""
        return bool(self.body.network_access.network_access_type == BLOCKED)

    def ends_at(self, now: float) -> float:
        """When it ends unless something runs on it."""
        last = max([self.created, *(p.active_until(now) for p in self.task.started.values())])
        idle = self.body.idle_timeout_secs or float("inf")
        return float(min(self.created + self.body.timeout_secs, last + idle))


@dataclass
class ModalPeer:
    """The vendor. `sold` are the machines there are; `rented` counts every one there ever was."""

    faults: Faults = field(default_factory=Faults)
    sold: dict[str, Sold] = field(default_factory=dict)
    rented: int = 0
    ahead: float = 0.0
    url: str = ""
    router_url: str = ""
    forgets_tokens: bool = False
    lists_all: bool = False

    @property
    def live(self) -> list[Sold]:
        """The machines that run by now."""
        self.expire()
        return list(self.sold.values())

    def now(self) -> float:
        """The vendor's clock."""
        return time.time() + self.ahead

    def advance(self, seconds: float) -> None:
        """Let the vendor's clock go on."""
        self.ahead += seconds
        self.expire()

    def deadline(self, sold: Sold) -> float:
        """How many seconds a machine lives if nobody comes back."""
        left = [p.began + p.seconds for p in sold.task.started.values() if p.ended is None]
        idle_from = max([self.now(), *left])
        return float(idle_from + sold.body.idle_timeout_secs - self.now())

    def stray(self, count: int, metadata: dict[str, str]) -> None:
        """Have machines in the list that nobody knows of."""
        for _ in range(count):
            self.add(pb.Sandbox(timeout_secs=86_400, idle_timeout_secs=1800), metadata, None)

    def add(self, body: Any, tags: dict[str, str], machine: Machine | None) -> Sold:
        """Have another machine."""
        # Later than the one before it: a list is read by this.
        before = next(reversed(self.sold.values())).created if self.sold else 0.0
        created = max(self.now(), before + 1e-4)
        task = Task(machine, secrets.token_hex(16))
        sold = Sold(f"sb-{secrets.token_hex(13)}", body, tags, created, task)
        self.sold[sold.id] = sold
        return sold

    def end(self, sold: Sold) -> None:
        """End a machine, as its deadline does."""
        self.sold.pop(sold.id, None)
        if sold.machine is not None:
            sold.machine.end()

    def expire(self) -> None:
        """End what is past its time."""
        for sold in list(self.sold.values()):
            self._expire(sold)

    def known(self, machine: str) -> Sold | None:
        """Return a machine that runs."""
        if machine in self.sold:
            self._expire(self.sold[machine])
        return self.sold.get(machine)

    def _expire(self, sold: Sold) -> None:
        now = self.now()
        for one in list(sold.task.started.values()):
            if one.ended is None and one.began + one.seconds <= now:
                one.kill()
        if sold.ends_at(now) <= now:
            self.end(sold)

    def cut(self) -> None:
        """Cut streams in their midst, and end every process that runs by its time."""
        self.faults.plan("cut", *[Fault.LOST] * 3)
        running = [p for sold in self.live for p in sold.task.started.values() if p.ended is None]
        self.advance(max(one.began + one.seconds for one in running) - self.now())

    def close(self) -> None:
        """End every machine."""
        for sold in list(self.sold.values()):
            self.end(sold)

    def task(self, task_id: str) -> Task | None:
        """Return the task of a machine that runs."""
        sold = self.known(f"sb-{task_id[3:-1]}")
        return None if sold is None else sold.task


class Control(defaults(ModalClientBase)):  # type: ignore[misc]
    """The control plane of Modal, as far as sandboxes need it."""

    def __init__(self, peer: ModalPeer) -> None:
        self._peer = peer
        self._by_token: dict[str, Sold] = {}
        self._lock = asyncio.Lock()
        self._doing: set[asyncio.Task[Any]] = set()

    async def AuthTokenGet(self, stream: Any) -> None:
        """Give the token that newer calls need."""
        claims = json.dumps({"exp": time.time() + 1200}).encode()
        token = f"e30.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.e30"
        await self._answered("token", stream, _always(pb.AuthTokenGetResponse(token=token)))

    async def AppGetOrCreate(self, stream: Any) -> None:
        """Give the one app there is."""
        answer = pb.AppGetOrCreateResponse(app_id=APP)
        await self._answered("app", stream, _always(answer))

    async def EnvironmentGetOrCreate(self, stream: Any) -> None:
        """Give the version of its image builder."""
        settings = pb.EnvironmentSettings(image_builder_version="2025.06")
        metadata = pb.EnvironmentMetadata(name="main", settings=settings)
        answer = pb.EnvironmentGetOrCreateResponse(environment_id="en-1", metadata=metadata)
        await self._answered("environment", stream, _always(answer))

    async def ImageGetOrCreate(self, stream: Any) -> None:
        """Have every image built already."""
        done = pb.GenericResult(status=pb.GenericResult.GENERIC_STATUS_SUCCESS)
        answer = pb.ImageGetOrCreateResponse(image_id="im-made", result=done)
        await self._answered("image", stream, _always(answer))

    async def ImageFromId(self, stream: Any) -> None:
        """Look an image up."""

        async def act(request: Any) -> Any:
            if request.image_id not in IMAGES:
                raise GRPCError(Status.NOT_FOUND, f"no such image {request.image_id}")
            return pb.ImageFromIdResponse(image_id=request.image_id)

        await self._answered("image", stream, act)

    async def SandboxCreateV2(self, stream: Any) -> None:
        """Rent a machine; a name that is taken is refused, a request that came before is known."""
        token = stream.metadata.get("x-idempotency-key", "")

        async def act(request: Any) -> Any:
            async with self._lock:
                known = None if self._peer.forgets_tokens else self._by_token.get(token)
                sold = known or await self._sell(request)
                self._by_token[token] = sold
            metadata = pb.SandboxHandleMetadata(app_id=APP)
            return pb.SandboxCreateV2Response(
                sandbox_id=sold.id, task_id=_task_id(sold), metadata=metadata
            )

        await self._answered("create", stream, act)

    async def SandboxListV2(self, stream: Any) -> None:
        """List machines, the newest first, a page before a time."""

        async def act(request: Any) -> Any:
            wanted = {tag.tag_name: tag.tag_value for tag in request.tags}.items()
            before = request.before_timestamp or float("inf")
            found = [
                one for one in reversed(self._peer.live)
                if one.created < before and (self._peer.lists_all or wanted <= one.tags.items())
            ]  # fmt: skip
            shown = [pb.SandboxInfo(id=one.id, created_at=one.created) for one in found[:PAGE]]
            return pb.SandboxListResponse(sandboxes=shown)

        await self._answered("list", stream, act)

    async def SandboxTagsGetV2(self, stream: Any) -> None:
        """Give a machine's tags."""

        async def act(request: Any) -> Any:
            tags = self._known(request).tags.items()
            shown = [pb.SandboxTag(tag_name=name, tag_value=value) for name, value in tags]
            return pb.SandboxTagsGetResponse(tags=shown)

        await self._answered("tags", stream, act)

    async def SandboxWaitV2(self, stream: Any) -> None:
        """Say how a machine ended; nothing while it runs."""

        async def act(request: Any) -> Any:
            result = pb.GenericResult()
            if self._peer.known(request.sandbox_id) is None:
                result.status = pb.GenericResult.GENERIC_STATUS_TERMINATED
            metadata = pb.SandboxHandleMetadata(app_id=APP)
            return pb.SandboxWaitResponse(result=result, metadata=metadata)

        await self._answered("look", stream, act)

    async def SandboxTerminateV2(self, stream: Any) -> None:
        """End a machine."""

        async def act(request: Any) -> Any:
            sold = self._peer.sold.get(request.sandbox_id)
            if sold is not None:
                await asyncio.to_thread(self._peer.end, sold)
            return pb.SandboxTerminateResponse()

        await self._answered("kill", stream, act)

    async def SandboxGetTaskIdV2(self, stream: Any) -> None:
        """Say which task a machine is."""

        async def act(request: Any) -> Any:
            sold = self._peer.known(request.sandbox_id)
            if sold is None:
                ended = pb.GenericResult(status=pb.GenericResult.GENERIC_STATUS_TERMINATED)
                return pb.SandboxGetTaskIdResponse(task_result=ended)
            return pb.SandboxGetTaskIdResponse(task_id=_task_id(sold))

        await self._answered("task", stream, act)

    async def SandboxGetCommandRouterAccess(self, stream: Any) -> None:
        """Say where a machine's processes are called, and with which token."""

        async def act(request: Any) -> Any:
            sold = self._known(request)
            url = self._peer.router_url
            return pb.SandboxGetCommandRouterAccessResponse(jwt=sold.task.token, url=url)

        await self._answered("connect", stream, act)

    async def _sell(self, request: Any) -> Sold:
        body, name = request.definition, request.definition.name
        taken = [one for one in self._peer.live if one.body.name == name]
        if name and taken:
            raise GRPCError(Status.ALREADY_EXISTS, f"a sandbox {name} exists")
        machine = Machine(closed=body.network_access.network_access_type == BLOCKED)
        await asyncio.to_thread(machine.start)
        tags = {tag.tag_name: tag.tag_value for tag in request.tags}
        sold = self._peer.add(body, tags, machine)
        self._peer.rented += 1
        return sold

    def _known(self, request: Any) -> Sold:
        sold = self._peer.known(request.sandbox_id)
        if sold is None:
            raise GRPCError(Status.NOT_FOUND, f"there is no sandbox {request.sandbox_id}")
        return sold

    async def _answered(self, name: str, stream: Any, act: Callable[[Any], Awaitable[Any]]) -> None:
        request = await stream.recv_message()
        heard = dict(stream.metadata)
        text = f"{heard} {request}".replace(SECRET, "<key>")
        self._peer.faults.calls.append(Call(name, text))
        said = (heard.get("x-modal-token-id"), heard.get("x-modal-token-secret"))
        if said != (TOKEN, SECRET):
            raise GRPCError(Status.UNAUTHENTICATED, f"the key {said} is not valid")
        fault = self._peer.faults.next(name)
        await _refused(fault, self._peer.faults.retry_after)
        # On and on, also when the caller goes: an answer may be lost after the deed.
        doing = asyncio.get_running_loop().create_task(self._done(name, request, act))
        self._doing.add(doing)
        doing.add_done_callback(self._doing.discard)
        answer = await asyncio.shield(doing)
        match fault:
            case Fault.LOST:
                await stream.cancel()
            case Fault.HALF:
                await stream.send_initial_metadata()
                half = answer.SerializeToString()[:-1]
                framed = b"\0" + (len(half) + 9).to_bytes(4, "big") + half
                await stream._stream.send_data(framed, end_stream=True)
                stream._send_trailing_metadata_done = True
            case _:
                await stream.send_message(answer)

    async def _done(self, name: str, request: Any, act: Callable[[Any], Awaitable[Any]]) -> Any:
        await self._gated(name, "before")
        answer = await act(request)
        await self._gated(name, "after")
        return answer

    async def _gated(self, name: str, when: str) -> None:
        if self._peer.faults.gate is not None:
            await asyncio.to_thread(self._peer.faults.gate, name, when)


async def _refused(fault: Fault | None, retry_after: int) -> None:
    """Raise a refusal that does nothing; or never return."""
    match fault:
        case Fault.BUSY:
            wanted = [pb.RPCRetryPolicy(retry_after_secs=retry_after)] if retry_after else None
            raise GRPCError(Status.RESOURCE_EXHAUSTED, "too many", wanted)
        case Fault.BROKEN:
            raise GRPCError(Status.INTERNAL, "broken")
        case Fault.REFUSED:
            raise GRPCError(Status.NOT_FOUND, "no such template")
        case Fault.HANGS:
            await asyncio.sleep(3600)  # it hangs: its caller gives up
        case _:
            return


def _always(answer: Any) -> Callable[[Any], Awaitable[Any]]:
    async def act(_request: Any) -> Any:
        return answer

    return act


def _task_id(sold: Sold) -> str:
    return f"ta-{sold.id[3:]}V"


class Endpoint(Server):
    """A server whose connections end with it."""

    def __init__(self, service: Any) -> None:
        super().__init__([service], status_details_codec=custom_detail_codec)
        self._protocols: list[Any] = []

    def _protocol_factory(self) -> Any:
        self._protocols.append(super()._protocol_factory())
        return self._protocols[-1]

    async def end(self) -> None:
        """Close everything."""
        self.close()
        for protocol in self._protocols:
            transport = getattr(protocol.connection, "_transport", None)
            if transport is not None:
                transport.abort()
        await self.wait_closed()


async def _serve(peer: ModalPeer, started: threading.Event, over: threading.Event) -> None:
    router = Router(peer.faults, peer.task, peer.now)
    servers = [Endpoint(Control(peer)), Endpoint(router)]
    urls = []
    for server in servers:
        await server.start("127.0.0.1", 0)
        assert isinstance(server._server, asyncio.Server)
        port = server._server.sockets[0].getsockname()[1]
        urls.append(f"http://127.0.0.1:{port}")
    peer.url, peer.router_url = urls
    started.set()
    await asyncio.to_thread(over.wait)
    peer.close()
    await router.end()
    for server in servers:
        await server.end()
    # What a call began that was under way.
    await router.end()


@contextmanager
def modal_peer() -> Iterator[ModalPeer]:
    """Yield a peer at ports that the system gives."""
    peer, started, over = ModalPeer(), threading.Event(), threading.Event()
    # What is left is cancelled, and its threads are waited for.
    thread = threading.Thread(target=lambda: asyncio.run(_serve(peer, started, over)))
    thread.start()
    try:
        assert started.wait(20), "the peer did not start"
        yield peer
    finally:
        peer.faults.released.set()
        over.set()
        thread.join()
        peer.close()
