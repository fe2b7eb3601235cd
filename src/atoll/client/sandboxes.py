"""Sandboxes and their agents over the API: what waits, and lists over many pages."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from atoll.client.made.agents.sandbox_agents import Agent, PlainAgents
from atoll.client.made.library.pulls import PullOrder
from atoll.client.made.sandboxes.sandboxes import PlainSandboxes, SandboxPage
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.transport import ANSWER_SECONDS, get, post

if TYPE_CHECKING:  # dictionaries that take longer to load than `atoll list` may
    from atoll.client.made.library.pulls import TakeBody
    from atoll.client.made.sandboxes.requests import CreateBody

Action = Literal["pause", "resume", "stop", "interrupt", "start", "yield", "unlock"]


class Sandboxes(PlainSandboxes):
    """The sandboxes of an installation; `name` is a sandbox's name or its id."""

    def get(self, name: str, *, wait_seconds: int = 0) -> Sandbox:
        """Return a sandbox, after waiting for at most `wait` until it is ready."""
        wait = (("wait", "ready"), ("timeout", str(wait_seconds))) if wait_seconds else ()
        return self._transport.read(Sandbox, get("sandboxes", name, query=wait))

    def list(
        self,
        *,
        states: tuple[str, ...] = (),
        archived: bool | None = None,
        harness: str | None = None,
    ) -> Iterator[Sandbox]:
        """Yield the sandboxes, those in one of `states` when any is given. With `archived`, only
        those that are, or are not; with `harness`, only those that it made."""
        only = () if archived is None else (("archived", str(archived).lower()),)
        of = () if harness is None else (("harness", harness),)
        query = (*(("state", state) for state in states), *only, *of)
        page = self._transport.read(SandboxPage, get("sandboxes", query=query))
        yield from page.sandboxes
        while page.next:
            following = get("sandboxes", query=(*query, ("cursor", page.next)))
            page = self._transport.read(SandboxPage, following)
            yield from page.sandboxes

    def create(self, body: "CreateBody", *, idempotency_key: str) -> Sandbox:
        """Create a sandbox. Repeated with the same key within a day, it is the same one."""
        call = post("sandboxes", value=body)
        headers = (*call.headers, ("Idempotency-Key", idempotency_key))
        return self._transport.read(Sandbox, call._replace(headers=headers))

    def stop(self, name: str, *, wait: bool, wait_seconds: int = 0) -> Sandbox:
        """Stop what runs in a sandbox, and keep its workspace. With `wait` return once all has
        ended, at the latest after `wait_seconds` (0: as the server has it)."""
        longest = (("timeout", str(wait_seconds)),) if wait and wait_seconds else ()
        query = (("wait", "true" if wait else "false"), *longest)
        call = post("sandboxes", name, "stop", query=query)
        return self._transport.read(Sandbox, call._replace(timeout=wait_seconds + ANSWER_SECONDS))

    def destroy(self, name: str) -> Sandbox:
        """Destroy a sandbox, and wait until it is gone."""
        call = post("sandboxes", name, "destroy", query=(("wait", "true"),))
        return self._transport.read(Sandbox, call)

    def take_pull(self, place: "TakeBody", *, wait_seconds: int) -> PullOrder | None:
        """Wait for a pull order for this checkout and take it. Returns None when none came."""
        call = post("pulls", "take", value=place, query=(("wait", str(wait_seconds)),))
        order = self._transport.read(
            PullOrder, call._replace(timeout=wait_seconds + ANSWER_SECONDS)
        )
        return order if order.order_id else None


class Agents(PlainAgents):
    """The agents of a sandbox. An agent's id is that of its terminal."""

    def act(
        self, name: str, agent: str, *, action: Action, seconds: float = ANSWER_SECONDS
    ) -> Agent:
        """Pause, resume, interrupt or stop an agent, waiting at most `seconds`."""
        call = post("sandboxes", name, "terminals", agent, "agent", value={"action": action})
        return self._transport.read(Agent, call._replace(timeout=seconds))
