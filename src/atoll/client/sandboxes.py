"""Sandboxes over the API: their lifecycle, network and share links."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from atoll.client.made.sandboxes.networks import Network, Safety
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.shapes import (
    HeldPushes,
    Log,
    Processes,
    PullOrder,
    SandboxList,
    SandboxTools,
    Sync,
    Unpulled,
)
from atoll.client.transport import ANSWER_SECONDS, Call, Pairs, Transport, at, get, post, put

if TYPE_CHECKING:  # dictionaries that take longer to load than `atoll list` may
    from atoll.client.bodies import PullResultBody, SyncBody, TakeBody
    from atoll.client.made.sandboxes.networks import NetworkBody
    from atoll.client.made.sandboxes.requests import CreateBody

SYNC_SECONDS = 900.0
"""The longest silence while a remote is fetched and a branch rebased."""


class Sandboxes:
    """The sandboxes of an installation; `name` is a sandbox's name or its id.

    Every method raises the classes of `atoll.domain.errors`.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, name: str, *, wait_seconds: int = 0) -> Sandbox:
        """Return a sandbox, after waiting for at most `wait` until it is ready."""
        wait = (("wait", "ready"), ("timeout", str(wait_seconds))) if wait_seconds else ()
        return self._sandbox(get("sandboxes", name, query=wait))

    def list(self, *, states: tuple[str, ...] = ()) -> Iterator[Sandbox]:
        """Yield the sandboxes, those in one of `states` when any is given."""
        query = tuple(("state", state) for state in states)
        page = self._transport.read(SandboxList, get("sandboxes", query=query))
        yield from page.sandboxes
        while page.next:
            following = get("sandboxes", query=(*query, ("cursor", page.next)))
            page = self._transport.read(SandboxList, following)
            yield from page.sandboxes

    def create(self, body: "CreateBody", *, idempotency_key: str) -> Sandbox:
        """Create a sandbox. Repeated with the same key within a day, it is the same one."""
        request = post("sandboxes", value=body)
        headers = (*request.headers, ("Idempotency-Key", idempotency_key))
        return self._sandbox(Call("POST", request.path, (), headers, request.body))

    def start(self, name: str, *, query: Pairs = ()) -> Sandbox:
        """Start a sandbox that stopped, expired or failed; returns before it is ready."""
        return self._sandbox(post("sandboxes", name, "start", query=query))

    def stop(self, name: str, *, wait: bool, wait_seconds: int = 0) -> Sandbox:
        """Stop what runs in a sandbox, and keep its workspace. With `wait` return once all has
        ended, at the latest after `wait_seconds` (0: as the server has it)."""
        longest = (("timeout", str(wait_seconds)),) if wait and wait_seconds else ()
        query = (("wait", "true" if wait else "false"), *longest)
        call = post("sandboxes", name, "stop", query=query)
        return self._sandbox(call._replace(timeout=wait_seconds + ANSWER_SECONDS))

    def recreate(self, name: str) -> Sandbox:
        """Recreate a sandbox under the same id; returns before it is ready."""
        return self._sandbox(post("sandboxes", name, "recreate"))

    def destroy(self, name: str) -> Sandbox:
        """Destroy a sandbox, and wait until it is gone."""
        return self._sandbox(post("sandboxes", name, "destroy", query=(("wait", "true"),)))

    def extend_ttl(self, name: str, ttl: str) -> Sandbox:
        """Give a sandbox more time, such as `2h`."""
        return self._sandbox(post("sandboxes", name, "extend_ttl", value={"ttl": ttl}))

    def log(self, name: str) -> Log:
        """Return the provisioning log so far."""
        return self._transport.read(Log, get("sandboxes", name, "logs"))

    def processes(self, name: str) -> Processes:
        """Return what commands left running, and what the runtime takes."""
        return self._transport.read(Processes, get("sandboxes", name, "processes"))

    def tools(self, name: str) -> SandboxTools:
        """Return the tools that agents inside have, and why not the rest."""
        return self._transport.read(SandboxTools, get("sandboxes", name, "tools"))

    def end_processes(self, name: str) -> None:
        """End what commands left running."""
        self._transport.call(Call("DELETE", at("sandboxes", name, "processes")))

    def unpulled(self, name: str) -> Unpulled:
        """Return the work that lies only in the sandbox."""
        return self._transport.read(Unpulled, get("sandboxes", name, "unpulled"))

    def sync(self, name: str, body: "SyncBody") -> Sync:
        """Bring newer commits in and rebase onto them, or give a stopped rebase up."""
        call = post("sandboxes", name, "sync", value=body)
        return self._transport.read(Sync, call._replace(timeout=SYNC_SECONDS))

    def take_pull(self, place: "TakeBody", *, wait_seconds: int) -> PullOrder | None:
        """Wait for a pull order for this checkout and take it. Returns None when none came."""
        wait = (("wait", str(wait_seconds)),)
        call = post("pulls", "take", value=place, query=wait)
        order = self._transport.read(
            PullOrder, call._replace(timeout=wait_seconds + ANSWER_SECONDS)
        )
        return order if order.order_id else None

    def finish_pull(self, order_id: str, result: "PullResultBody") -> None:
        """Report how a pull order ended."""
        self._transport.call(post("pulls", order_id, "result", value=result))

    def pushes(self, name: str) -> HeldPushes:
        """Return the branches that were pushed inside and wait for their owner."""
        return self._transport.read(HeldPushes, get("sandboxes", name, "pushes"))

    def safety(self, name: str) -> Safety:
        """Return what protects a sandbox."""
        return self._transport.read(Safety, get("sandboxes", name, "safety"))

    def network(self, name: str) -> Network:
        """Return what a sandbox may reach."""
        return self._transport.read(Network, get("sandboxes", name, "network"))

    def change_network(self, name: str, change: "NetworkBody") -> Network:
        """Change what a sandbox may reach."""
        return self._transport.read(Network, put("sandboxes", name, "network", value=change))

    def _sandbox(self, call: Call) -> Sandbox:
        return self._transport.read(Sandbox, call)
