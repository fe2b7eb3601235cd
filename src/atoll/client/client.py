"""The client of the HTTP API, with a noun for each area.

Blocking, and light to load: it needs the standard library only. A noun that one command uses is
made there, as `Bookmarks(client.transport)`. What streams goes through `transport`, too.
"""

from collections.abc import Callable

from atoll.client.files import Files
from atoll.client.made.agents.inbox import Inbox
from atoll.client.made.approvals import Approvals
from atoll.client.made.execs import Execs
from atoll.client.made.library.kept import KeptFiles
from atoll.client.made.people.shares import Shares
from atoll.client.made.secrets import Secrets
from atoll.client.made.terminals import Terminals
from atoll.client.sandboxes import Agents, Sandboxes
from atoll.client.server import Server
from atoll.client.transport import Transport


class Client:
    """Client of one control plane. Every call raises the classes of `atoll.domain.errors`."""

    def __init__(self, locate: Callable[[], Server]) -> None:
        """Connect by `locate`, called at each request: a restarted server may have another port."""
        self.transport = Transport(locate)
        self.sandboxes = Sandboxes(self.transport)
        self.terminals = Terminals(self.transport)
        self.agents = Agents(self.transport)
        self.execs = Execs(self.transport)
        self.files = Files(self.transport)
        self.shares = Shares(self.transport)
        self.kept = KeptFiles(self.transport)
        self.secrets = Secrets(self.transport)
        self.approvals = Approvals(self.transport)
        self.inbox = Inbox(self.transport)

    @property
    def server(self) -> Server:
        """The server as of now. Raises what `find_server` raises."""
        return self.transport.server
