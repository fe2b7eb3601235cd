"""Settings of one agent as it reports them, and the change of one that is under way."""

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager

from atoll.domain.agents.conversation import Step
from atoll.domain.agents.settings import NO_SETTINGS, SettingName, chosen_value
from atoll.domain.agents.status import line_of
from atoll.domain.errors import Conflict

ANSWER_SECONDS = 10.0
"""The time in which an agent answers a change. One that works may take a moment."""


class AgentSettings:
    """The settings an agent has now. One change at a time."""

    def __init__(self) -> None:
        self.record = NO_SETTINGS
        self._settled: asyncio.Future[str] | None = None

    def value(self, name: SettingName) -> str:
        """Return the present value of a setting; empty where it is not known."""
        setting = self.record.model if name == "model" else self.record.permission_mode
        return "" if setting is None else setting.now

    def apply(self, step: Step) -> bool:
        """Take what a step says about settings. Returns whether they changed."""
        changed = step.settings is not None and step.settings != self.record
        if step.settings is not None:
            self.record = step.settings
        settled = self._settled
        if settled is not None and step.settled is not None and not settled.done():
            settled.set_result(step.settled)
        return changed

    @contextmanager
    def changing(self, name: SettingName, value: str) -> Iterator[Awaitable[None]]:
        """Check a change and yield its end, which raises `Conflict` when the agent refuses it.
        Raises `Invalid`, and `Conflict` while another change is under way."""
        chosen_value(self.record, name, value)
        if self._settled is not None:
            raise Conflict("another change waits for the agent's answer", code="changing")
        self._settled = asyncio.get_running_loop().create_future()
        try:
            yield self._end(self._settled)
        finally:
            self._settled = None

    async def _end(self, settled: asyncio.Future[str]) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                refusal = await settled
        except TimeoutError:
            raise Conflict(
                f"the agent has not answered within {ANSWER_SECONDS:g} seconds: it may still "
                "accept the change",
                code="no_answer",
            ) from None
        if refusal:
            raise Conflict(f"the agent refused: {line_of(refusal)}", code="refused")
