"""Reviews: a person's mark on the work of a sandbox, which lasts until the work changes."""

from atoll.domain.errors import Conflict
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Sandbox, check_may_manage
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.work.states import WorkLog, WorkStates


class Reviews:
    """Use cases of reviews, of whoever manages the sandbox."""

    def __init__(self, sandboxes: Sandboxes, states: WorkStates, log: WorkLog) -> None:
        self._sandboxes = sandboxes
        self._states = states
        self._log = log

    async def review(
        self, caller: Principal, ref: str, *, mark: str | None = None, reviewed: bool = True
    ) -> Sandbox:
        """Mark the work as reviewed, or take that back. `mark` is that of the work that the person
        saw: raises `Conflict` with code `changed` where it is another by now, `no_work` where there
        is none."""
        sandbox = await self._sandboxes.get(caller, ref)
        check_may_manage(caller, sandbox)
        work = await self._states.one(sandbox)
        if work.state is None:
            raise Conflict(f"There is no work to review in {sandbox.name}.", code="no_work")
        if reviewed and mark not in (None, work.mark):
            raise Conflict(
                f"The work in {sandbox.name} changed meanwhile: look at it again.", code="changed"
            )
        await self._log.append(
            caller, sandbox, "work.reviewed", {"mark": work.mark if reviewed else None}
        )
        return sandbox
