"""Workers of one sandbox, by id: the requests each made of an agent, and what the agent said.

A worker follows the agent's own conversation (`runtime.agents`): there is no second pipe. Its
records lie in a directory beside the journal.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from atoll.domain.agents.conversation import AgentEvent, Reply, Step
from atoll.domain.agents.lenient_json import Message, read_int, read_text
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Forbidden,
    Invalid,
    LimitReached,
    NotFound,
    Unavailable,
)
from atoll.domain.event import Json
from atoll.domain.terminals.softlock import AgentState
from atoll.domain.workers.ledger import WorkerRequest
from atoll.runtime.agents.session import AgentSession
from atoll.runtime.workers.live import DeltaRedactor, LiveDeltas, MakeStage
from atoll.runtime.workers.records import SPOOL_BYTES, Ledger, Spool
from atoll.wire.contract.correlation import read_trace_parent
from atoll.wire.contract.workers import (
    Receipt,
    ReceiptKind,
    RequestAnswer,
    RequestError,
    RequestErrorCode,
    SpoolPage,
    WorkerRecord,
    WorkerRequestBody,
)

log = logging.getLogger("atoll.runtime")

T = TypeVar("T")

Clean = Callable[[bytes], bytes]
"""Masks the secrets in a JSON document."""

MAX_PENDING = 64
MAX_WORKERS = 64
RETRY_SECONDS = 1.0
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_OF_AGENT: dict[int, RequestErrorCode] = {
    -32600: "invalid_request",
    -32601: "unsupported_method",
    -32602: "invalid_request",
}
_UNKNOWN = RequestError(
    "outcome_unknown",
    "the agent or its runtime ended before the request was answered; look before you repeat it",
    retryable=False,
)


class _Response(msgspec.Struct):
    """The result in a line of the agent's, as it is."""

    result: msgspec.Raw = msgspec.Raw(b"null")


class Worker:
    """A worker in one directory. It is the `Tap` of the agent that serves it."""

    def __init__(
        self,
        worker_id: str,
        folder: Path,
        clean: Clean,
        max_bytes: int = SPOOL_BYTES,
        *,
        make_stage: MakeStage,
    ) -> None:
        """Continue what is there: requests without a receipt get one. Raises `OSError`."""
        self.id = worker_id
        self._clean = clean
        self.live = LiveDeltas(DeltaRedactor(clean, make_stage))
        self._spool = Spool(folder / "spool", max_bytes)
        self._ledger = Ledger(folder / "ledger.jsonl")
        self._session: AgentSession | None = None
        self._answered: dict[str, asyncio.Event] = {}
        self._recover()

    @property
    def record(self) -> WorkerRecord:
        """The worker as the contract shows it."""
        return WorkerRecord(
            worker_id=self.id,
            agent_id="" if self._session is None else self._session.identity.id,
            last=self._spool.log.last,
            acknowledged=self._spool.log.acknowledged,
            pending=len(list(self._ledger.pending())),
            full=self._spool.log.full,
        )

    def attach(self, session: AgentSession) -> None:
        """Serve this worker by an agent from now on; nothing, where it does so already. Raises
        `Conflict`, `Invalid`."""
        if self._session is session:
            return
        if self._session is not None:
            raise Conflict(f"another agent serves the worker {self.id}; stop it first")
        session.follow(self)
        self._session = session

    async def request(self, body: WorkerRequestBody) -> RequestAnswer:
        """Send a request unless it was sent before, and wait for its receipt. Raises `Conflict`,
        `LimitReached`, `Unavailable`."""
        params = cast("Mapping[str, Json]", body.params)
        request = WorkerRequest(body.request_id, body.method, params)
        if not self._ledger.known(request):
            session = self._find_ready_agent()
            self._take(body.request_id, request.digest)
            await self._send(session, body)
        receipt = self._ledger.receipt(body.request_id)
        if receipt is None and body.wait_ms:
            answered = self._answered.setdefault(body.request_id, asyncio.Event())
            try:
                async with asyncio.timeout(body.wait_ms / 1000):
                    await answered.wait()
            except TimeoutError:
                return RequestAnswer()
            receipt = self._ledger.receipt(body.request_id)
        return RequestAnswer(receipt)

    async def page(self, after: int, limit: int, wait_seconds: int) -> SpoolPage:
        """Return entries above `after`, waiting for the first."""
        if wait_seconds:
            await self._spool.log.wait(after, wait_seconds)
        return self._spool.read(after, limit)

    def acknowledge(self, n: int) -> None:
        """Free entries up to `n`."""
        try:
            self._spool.log.acknowledge(n)
        except OSError as error:
            raise _no_disk(error) from error

    def release(self) -> None:
        """Let go of everybody who waits."""
        self.live.release()
        self._spool.log.release()
        for answered in self._answered.values():
            answered.set()

    def close(self) -> None:
        """Let go of the files."""
        self._spool.log.close()
        self._ledger.close()

    # What the agent says.

    async def room(self) -> None:
        """Wait until the agent's next message can be kept."""
        await self._spool.log.room()

    async def take(self, line: bytes, step: Step) -> None:
        """Keep a message, where it is an event, the events a translator made of it, and the
        receipts it brings."""
        if step.durable:
            await self._keep(line)
        elif not step.replies and not step.events:
            self.live.add(self._spool.log.last, lambda: line)
        for event in step.events:
            if event.live:
                self.live.add(self._spool.log.last, partial(_encode_event, event, b""))
            else:
                await self._keep(_encode_event(event, line))
        for reply in step.replies:
            await self._store_reply(reply, line)

    def left(self) -> None:
        """Note that the agent is gone: nothing more comes from it."""
        self._session = None
        try:
            self._settle_unknown()
        except OSError as error:
            log.error("worker %s cannot be written: %s", self.id, error)

    def _find_ready_agent(self) -> AgentSession:
        """Return the agent that can receive a request. Raises `Unavailable`."""
        session = self._session
        if session is None or session.lock.state is AgentState.STOPPED:
            raise Unavailable("no agent serves this worker", code="worker_unavailable")
        if self._spool.log.full:
            raise Unavailable(
                "the worker's spool is full: read and acknowledge its entries",
                code="worker_unavailable",
            )
        if len(list(self._ledger.pending())) >= MAX_PENDING:
            raise Unavailable(
                f"{MAX_PENDING} requests of this worker wait already", code="worker_unavailable"
            )
        return session

    def _take(self, request_id: str, digest: str) -> None:
        """Write a request down, before the agent can see it."""
        try:
            self._ledger.take(request_id, digest)
        except OSError as error:
            raise _no_disk(error) from error

    async def _send(self, session: AgentSession, body: WorkerRequestBody) -> None:
        try:
            params = cast("Message", body.params)
            step = await session.request(
                body.request_id, body.method, params, trace=_trace_of(body)
            )
        except AtollError as error:
            await self._receive(body.request_id, "error", msgspec.json.encode(_refusal(error)))
            return
        for reply in step.replies:
            await self._store_reply(reply, b"")
        for event in step.events:
            await self._keep(_encode_event(event, b""))

    async def _keep(self, event: bytes) -> None:
        await _insist(partial(self._spool.append, "event", self._clean(event)))

    async def _store_reply(self, reply: Reply, line: bytes) -> None:
        """Store an agent's reply as a response or an error."""
        if reply.error is not None:
            code = _OF_AGENT.get(read_int(reply.error, "code") or 0, "internal_error")
            words = read_text(reply.error, "message") or "the agent refused the request"
            error = RequestError(code, words, retryable=False, agent=dict(reply.error))
            await self._receive(reply.key, "error", msgspec.json.encode(error))
        elif line and not reply.made:
            result = msgspec.json.decode(line, type=_Response).result
            await self._receive(reply.key, "response", bytes(result))
        else:
            await self._receive(reply.key, "response", msgspec.json.encode(reply.result))

    async def _receive(self, request_id: str, kind: ReceiptKind, data: bytes) -> None:
        """Store the receipt of a request. The spool comes first: a start finds it there."""
        clean = self._clean(data)
        n = await _insist(partial(self._spool.append, kind, clean, request_id))
        receipt = Receipt(request_id, kind, n, msgspec.Raw(clean))
        await _insist(partial(self._ledger.answer, receipt))
        self._wake(request_id)

    def _recover(self) -> None:
        """Give every request of an earlier runtime its receipt."""
        pending = set(self._ledger.pending())
        after = self._spool.log.acknowledged
        while pending and after < self._spool.log.last:
            for entry in self._spool.read(after, 1000).entries:
                after = entry.n
                if entry.request_id in pending and entry.kind != "event":
                    pending.discard(entry.request_id)
                    receipt = Receipt(entry.request_id, entry.kind, entry.n, entry.data)
                    self._ledger.answer(receipt)
        self._settle_unknown()

    def _settle_unknown(self) -> None:
        data = msgspec.json.encode(_UNKNOWN)
        for request_id in self._ledger.pending():
            n = self._spool.append("error", data, request_id)
            self._ledger.answer(Receipt(request_id, "error", n, msgspec.Raw(data)))
            self._wake(request_id)

    def _wake(self, request_id: str) -> None:
        answered = self._answered.pop(request_id, None)
        if answered is not None:
            answered.set()


class Workers:
    """Workers in the directories below `folder`, read when they are first named."""

    def __init__(
        self,
        folder: Path,
        clean: Clean,
        max_bytes: int = SPOOL_BYTES,
        *,
        make_stage: MakeStage,
    ) -> None:
        self._folder = folder
        self._clean = clean
        self._max_bytes = max_bytes
        self._make_stage = make_stage
        self._workers: dict[str, Worker] = {}

    def open(self, worker_id: str, session: AgentSession) -> Worker:
        """Return a worker that this agent serves from now on; the same one when it is repeated.
        Raises `Conflict`, `Invalid`, `LimitReached`, `Unavailable`."""
        if not _ID.fullmatch(worker_id):
            raise Invalid(
                "a worker_id is 1 to 128 letters, digits, . _ and -, and begins with one of the "
                "first two",
                field="worker_id",
            )
        if not self._is_there(worker_id) and len(self._names()) >= MAX_WORKERS:
            raise LimitReached(f"{MAX_WORKERS} workers are in this sandbox")
        worker = self._load(worker_id)
        worker.attach(session)
        return worker

    def get(self, worker_id: str) -> Worker:
        """Return one worker, also of an earlier runtime. Raises `NotFound`."""
        if not (_ID.fullmatch(worker_id) and self._is_there(worker_id)):
            raise NotFound(f"there is no worker {worker_id[:80]} in this sandbox")
        return self._load(worker_id)

    def release(self) -> None:
        """Let go of everybody who waits."""
        for worker in self._workers.values():
            worker.release()

    def close(self) -> None:
        """Let go of all files."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()

    def _is_there(self, worker_id: str) -> bool:
        return worker_id in self._workers or (self._folder / worker_id).is_dir()

    def _names(self) -> list[str]:
        return [folder.name for folder in self._folder.iterdir()] if self._folder.is_dir() else []

    def _load(self, worker_id: str) -> Worker:
        worker = self._workers.get(worker_id)
        if worker is None:
            try:
                worker = Worker(
                    worker_id,
                    self._folder / worker_id,
                    self._clean,
                    self._max_bytes,
                    make_stage=self._make_stage,
                )
            except OSError as error:
                raise Unavailable(
                    f"the directory of the worker {worker_id} cannot be used: {error.strerror}",
                    code="worker_unavailable",
                ) from error
            self._workers[worker_id] = worker
        return worker


def _encode_event(event: AgentEvent, line: bytes) -> bytes:
    """Return an event as a message of the agent's, with the line it was made of."""
    params: dict[str, object] = dict(event.params)
    if event.native and line:
        params["native"] = msgspec.Raw(line)
    message: dict[str, object] = {"method": event.method, "params": params}
    return msgspec.json.encode({"id": event.id, **message} if event.id else message)


async def _insist(write: Callable[[], T]) -> T:
    """Write to the disk, for as long as it takes: nothing may be dropped."""
    while True:
        try:
            return write()
        except OSError as error:
            log.error("a worker waits for its disk: %s", error)
            await asyncio.sleep(RETRY_SECONDS)


def _trace_of(body: WorkerRequestBody) -> str:
    parent = read_trace_parent(body.traceparent)
    return "" if parent is None else str(parent)


def _no_disk(error: OSError) -> Unavailable:
    return Unavailable(
        f"the worker's directory cannot be written: {error.strerror}", code="worker_unavailable"
    )


def _refusal(error: AtollError) -> RequestError:
    """Return an error of ours as a receipt's."""
    match error:
        case Invalid(code="unsupported_method"):
            return RequestError("unsupported_method", error.message, retryable=False)
        case Invalid():
            return RequestError("invalid_request", error.message, retryable=False)
        case Forbidden():
            return RequestError("forbidden", error.message, retryable=False)
        case Conflict(code="conflict"):
            return RequestError("conflict", error.message, retryable=False)
        case Conflict() | Unavailable():
            return RequestError("worker_unavailable", error.message, retryable=True)
        case _:
            return RequestError("internal_error", error.message, retryable=False)
