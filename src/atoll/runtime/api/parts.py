"""Parts of a runtime that its routes work on.

Routes are built once, before their parts: the zygote does so for all its runtimes, which then share
those pages. So a route finds its part here when a request comes.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from atoll.runtime.agents.agents import Agents
from atoll.runtime.doors.approvals.command_requests import CommandRequests
from atoll.runtime.execs.execs import Execs
from atoll.runtime.files.files import Files
from atoll.runtime.health import Activity
from atoll.runtime.journal.control_plane import ControlPlane
from atoll.runtime.journal.journal import Journal
from atoll.runtime.policy.policy import StandingPolicy
from atoll.runtime.policy.redactions import Redactions
from atoll.runtime.ports import Ports
from atoll.runtime.recordings.recordings import Recordings
from atoll.runtime.terminals.terminals import Terminals
from atoll.wire.contract.own_usage import OwnUsage


def _nothing_counted() -> None:
    """Replace the doors' audit before the doors are served."""


@dataclass(slots=True)
class Parts:
    """Set each without a default before the first request comes."""

    terminals: Terminals = field(init=False)
    agents: Agents = field(init=False)
    execs: Execs = field(init=False)
    files: Files = field(init=False)
    journal: Journal = field(init=False)
    activity: Activity = field(init=False)
    asks: CommandRequests = field(init=False)
    ports: Ports = field(init=False)
    recordings: Recordings = field(init=False)
    control_plane: ControlPlane = field(init=False)
    policy: StandingPolicy = field(default_factory=StandingPolicy)
    redactions: Redactions = field(default_factory=Redactions)
    own_usage: Callable[[], OwnUsage | None] | None = None
    settle_audit: Callable[[], None] = _nothing_counted
