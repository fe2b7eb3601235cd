"""The workers of one sandbox, by id. Each has a directory beside the journal."""

import re
from pathlib import Path

from atoll.domain.errors import Invalid, LimitReached, NotFound, Unavailable
from atoll.runtime.agents.session import AgentSession
from atoll.runtime.workers.live import MakeStage
from atoll.runtime.workers.spool import SPOOL_BYTES
from atoll.runtime.workers.worker import Clean, Worker

MAX_WORKERS = 64
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


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
        return [one.name for one in self._folder.iterdir()] if self._folder.is_dir() else []

    def _load(self, worker_id: str) -> Worker:
        found = self._workers.get(worker_id)
        if found is None:
            try:
                found = Worker(
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
            self._workers[worker_id] = found
        return found
