"""States of pull requests as their forges have them: what is merged or closed there is an event.

No forge calls us, so the leader asks. A round asks for few of them, one after the other, and what
fails is asked for less and less often (`domain.work.pull_looks`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final, NoReturn

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.event import Json, sandbox_stream
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import SYSTEM
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.work.pull_looks import pause_after_look, pulls_to_look_at
from atoll.domain.work.record import WORK, PullRecord
from atoll.ports.outside.issues import IssueReader
from atoll.services.forges.forge_tokens import ForgeTokens
from atoll.services.ground import Ground
from atoll.services.repetition import pause, repeat
from atoll.services.work.states import WorkLog, record_in
from atoll.wire.words.forges import PullState

ROUND: Final = timedelta(seconds=20)
"""The time between two rounds."""

MAX_LOOKS: Final = 30
"""Looks of one round; the others are due in the next."""

PullKey = tuple[SandboxId, int, int]
"""A sandbox, the number of its repository, and that of the pull request."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Watched:
    sandbox: Sandbox
    pull: PullRecord

    @property
    def key(self) -> PullKey:
        return self.sandbox.id, self.pull.repo, self.pull.pull


@dataclass(frozen=True, slots=True)
class _Look:
    """The next look that is due, after so many that failed in a row."""

    due: datetime
    failures: int = 0


class PullWatch:
    """The watch over open pull requests, at work in the leader."""

    def __init__(
        self, ground: Ground, *, tokens: ForgeTokens, reader: IssueReader, log: WorkLog
    ) -> None:
        self._ground = ground
        self._tokens = tokens
        self._reader = reader
        self._log = log
        self._looks: dict[PullKey, _Look] = {}

    async def run(self) -> NoReturn:
        """Look again and again, until cancelled."""
        rest = partial(pause, self._ground.clock, ROUND)
        await repeat(self.look, rest, failed="pulls_not_looked_at", broke="pull_watch_broke")

    async def look(self) -> None:
        """Look at the pull requests that are due, the longest due first."""
        watched = await self._watched()
        first = self._ground.clock.now()
        self._looks = {key: self._looks.get(key, _Look(first)) for key in watched}
        due = sorted(
            (key for key, look in self._looks.items() if look.due <= first),
            key=lambda key: (self._looks[key].due, key),
        )
        for key in due[:MAX_LOOKS]:
            await self._look_at(watched[key])

    async def _watched(self) -> Mapping[PullKey, _Watched]:
        async with self._ground.store.read() as rows:
            sandboxes = await rows.sandboxes.unfinished()
            streams = [sandbox_stream(sandbox.id) for sandbox in sandboxes]
            states = await rows.projections.states(WORK.name, streams)
        watched = (
            _Watched(sandbox, pull)
            for sandbox in sandboxes
            for pull in pulls_to_look_at(sandbox, record_in(sandbox, states))
        )
        return {each.key: each for each in watched}

    async def _look_at(self, watched: _Watched) -> None:
        failures = 0
        try:
            await self._compare(watched)
        except AtollError as error:
            failures = self._looks[watched.key].failures + 1
            _log.info("pull_not_looked_at", sandbox_id=watched.sandbox.id, reason=error.message)
        now = self._ground.clock.now()
        rest = pause_after_look(watched.pull, failures, now)
        self._looks[watched.key] = _Look(now + rest, failures)

    async def _compare(self, watched: _Watched) -> None:
        """Append an event where the forge has another state than the log."""
        sandbox, pull = watched.sandbox, watched.pull
        at = await self._tokens.of_sandbox(sandbox, sandbox.repos[pull.repo])
        state = (await self._reader.pull(at, pull.pull)).state
        if state is not pull.state:
            await record_state(self._log, sandbox, pull, state)


async def record_state(log: WorkLog, sandbox: Sandbox, pull: PullRecord, state: PullState) -> None:
    """Append the event of a pull request that has another state at the forge than the log."""
    payload: Mapping[str, Json] = {
        "repo": pull.repo,
        "branch": pull.branch,
        "base": pull.base,
        "commit": pull.commit,
        "pull": pull.pull,
        "state": state.value,
    }
    await log.append(SYSTEM, sandbox, "git.pull_changed", payload)
