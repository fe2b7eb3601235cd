"""The upkeep of agents' logins by the leader: polls and refreshes in time, and tokens that a vendor
refused are refreshed at once.

Each login is taken up by a task of its own, so that a slow issuer delays no other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Annotated, Final

import msgspec
import structlog

from atoll.domain.errors import AtollError
from atoll.domain.logins.agent_login import AgentLoginId
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import StoreUnavailable, Transaction
from atoll.services.ground import Ground
from atoll.services.journals.entries import EntryHandler, JournalOutcome, ReportedEntry
from atoll.services.logins.agent_logins import AgentLogins
from atoll.services.task_runner import TaskRunner

TICK: Final = timedelta(seconds=0.5)
"""The time between two looks for logins that are due."""

_log = structlog.get_logger(__name__)

_Id = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]


class _Refused(msgspec.Struct):
    """A token that a vendor refused, as a runtime reports it."""

    login_id: _Id
    version: int


class LoginUpkeep:
    """The upkeep of all logins."""

    def __init__(self, ground: Ground, logins: AgentLogins, runner: TaskRunner) -> None:
        self._ground = ground
        self._logins = logins
        self._runner = runner
        self._advancing: set[AgentLoginId] = set()

    @property
    def handlers(self) -> Mapping[str, EntryHandler]:
        """Return the handlers of journal entries by their kind."""
        return {"login.refused": self.refused}

    async def run(self) -> None:
        """Take up what is due, until cancelled."""
        clock = self._ground.clock
        self._advancing.clear()  # a task that was cancelled before it began removed nothing
        while True:
            try:
                for login_id in await self._logins.due():
                    if login_id not in self._advancing:
                        # A poll whose answer is slow is not sent again: a code is good for one.
                        self._advancing.add(login_id)
                        self._runner.start(partial(self._advance, login_id))
            except StoreUnavailable as error:
                _log.warning("logins_wait_for_store", reason=error.message)
            await clock.sleep_until(clock.now() + TICK)

    async def refused(
        self, rows: Transaction, sandbox: Sandbox, entry: ReportedEntry
    ) -> JournalOutcome:
        """Start the refresh of a token that was lent to this sandbox. Its door waits for the next
        policy."""
        try:
            refusal = msgspec.convert(entry.payload, _Refused)
        except msgspec.ValidationError:
            return JournalOutcome()
        login_id = AgentLoginId(refusal.login_id)
        record = await rows.agent_logins.get(login_id)
        owner = (sandbox.org_id, sandbox.owner)
        if record is not None and (record.org_id, record.owner) == owner:
            self._runner.start(partial(self._renew, login_id, refusal.version))
        return JournalOutcome()

    async def _advance(self, login_id: AgentLoginId) -> None:
        try:
            await self._logins.advance_one(login_id)
        except AtollError as error:
            _log.warning("login_not_advanced", id=login_id, reason=error.message)
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("login_broke", id=login_id)
        finally:
            self._advancing.discard(login_id)

    async def _renew(self, login_id: AgentLoginId, version: int) -> None:
        try:
            await self._logins.refused(login_id, version)
        except AtollError as error:
            _log.warning("login_not_refreshed", id=login_id, reason=error.message)
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("login_broke", id=login_id)


@dataclass(frozen=True, slots=True)
class LoginServices:
    """The use cases on agents' logins, and what the leader does for them."""

    logins: AgentLogins
    upkeep: LoginUpkeep
