"""Sandboxes: create, read, stop, start, recreate, destroy.

Made from the declarations of the API by `scripts/client`.
"""

from atoll.client import fields
from atoll.client.fields import Shape
from atoll.client.made.agents.tools import SandboxTools
from atoll.client.made.library.pulls import PullOrder, PullResultBody
from atoll.client.made.library.syncs import Sync, SyncBody
from atoll.client.made.library.unpulled import PushList, Unpulled
from atoll.client.made.processes import Processes
from atoll.client.made.sandboxes.networks import Network, NetworkBody, Safety
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.made.sandboxes.works import MergeBody, MergeResult, ReviewBody
from atoll.client.transport import (
    Call,
    Pairs,
    Transport,
    api_path,
    get,
    omit_absent,
    post,
    put,
    query_of,
)


class SandboxPage(Shape):
    """A page, newest first; `next` is the following `cursor`."""

    sandboxes = fields.many(Sandbox)
    next = fields.text()


class LogLine(Shape):
    """A step of provisioning."""

    at = fields.text()
    text = fields.text()


class Log(Shape):
    """The log of provisioning."""

    lines = fields.many(LogLine)


class PlainSandboxes:
    """The sandboxes of an installation. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def tools(self, name: str) -> SandboxTools:
        """Return every tool, and what agents inside this sandbox have of it."""
        return self._transport.read(SandboxTools, get("sandboxes", name, "tools"))

    def finish_pull(self, order_id: str, result: PullResultBody) -> PullOrder:
        """Report how a pull order ended."""
        return self._transport.read(PullOrder, post("pulls", order_id, "result", value=result))

    def sync(self, name: str, body: SyncBody) -> Sync:
        """Bring newer commits into the sandbox and rebase its branch onto them."""
        return self._transport.read(
            Sync, post("sandboxes", name, "sync", value=body)._replace(timeout=900.0)
        )

    def pushes(self, name: str) -> PushList:
        """Return the branches that were pushed inside and wait for their owner."""
        return self._transport.read(PushList, get("sandboxes", name, "pushes"))

    def unpulled(self, name: str) -> Unpulled:
        """Return the work that is lost when the sandbox is destroyed: commits nobody pulled,
        stashes, changed and untracked files. Pushes that are held for the owner are named, too."""
        return self._transport.read(Unpulled, get("sandboxes", name, "unpulled"))

    def processes(self, name: str) -> Processes:
        """Return the processes that commands and terminals left running when they ended, at most
        200. The response also has the resources of the sandbox's runtime."""
        return self._transport.read(Processes, get("sandboxes", name, "processes"))

    def end_processes(self, name: str) -> None:
        """Kill these processes. Running commands and terminals stay."""
        self._transport.call(Call("DELETE", api_path("sandboxes", name, "processes")))

    def network(self, name: str) -> Network:
        """Return the network of a sandbox."""
        return self._transport.read(Network, get("sandboxes", name, "network"))

    def change_network(self, name: str, change: NetworkBody) -> Network:
        """Change the network while the sandbox lives; connections that are no longer allowed are
        closed at once."""
        return self._transport.read(Network, put("sandboxes", name, "network", value=change))

    def safety(self, name: str) -> Safety:
        """Return the safety layers in force."""
        return self._transport.read(Safety, get("sandboxes", name, "safety"))

    def sleep(self, name: str, *, query: Pairs = ()) -> Sandbox:
        """Let the sandbox sleep: its processes end, its files and its terminals' screens are
        kept, and whoever uses it wakes it; `?wait=true` waits for the end."""
        return self._transport.read(Sandbox, post("sandboxes", name, "sleep", query=query))

    def start(self, name: str, *, resume_agents: bool | None = None, query: Pairs = ()) -> Sandbox:
        """Start a stopped, expired or failed sandbox; its agents resume their conversations."""
        return self._transport.read(
            Sandbox,
            post("sandboxes", name, "start", query=query_of(resume_agents=resume_agents) + query),
        )

    def archive(self, name: str, *, query: Pairs = ()) -> Sandbox:
        """Put a sandbox away: it stops, and keeps its files and conversations, without an end,
        until it is revived or destroyed."""
        return self._transport.read(Sandbox, post("sandboxes", name, "archive", query=query))

    def revive(self, name: str, *, query: Pairs = ()) -> Sandbox:
        """Take an archived sandbox up again, with a whole time to live: it starts, and its
        agents resume their conversations."""
        return self._transport.read(Sandbox, post("sandboxes", name, "revive", query=query))

    def recreate(self, name: str, *, query: Pairs = ()) -> Sandbox:
        """Provision the sandbox anew under the same id, after saving commits nobody pulled."""
        return self._transport.read(Sandbox, post("sandboxes", name, "recreate", query=query))

    def extend_ttl(self, name: str, ttl: int | str) -> Sandbox:
        """Extend the sandbox's time to live, never past `max_expires_at`. An ended sandbox is
        kept longer."""
        return self._transport.read(
            Sandbox, post("sandboxes", name, "extend_ttl", value=omit_absent(ttl=ttl))
        )

    def log(self, name: str) -> Log:
        """Return the log of provisioning, step by step."""
        return self._transport.read(Log, get("sandboxes", name, "logs"))

    def review(self, name: str, body: ReviewBody) -> Sandbox:
        """Mark the work as reviewed, until it changes or an agent works again; or take that
        back."""
        return self._transport.read(Sandbox, post("sandboxes", name, "review", value=body))

    def merge(self, name: str, body: MergeBody) -> MergeResult:
        """Merge the sandbox's branch into another branch of its repository, inside. It is
        rebased onto the newest commits of that branch first, as a sync does. The result leaves
        the sandbox by a pull, a push or a pull request."""
        return self._transport.read(
            MergeResult, post("sandboxes", name, "merge", value=body)._replace(timeout=900.0)
        )
