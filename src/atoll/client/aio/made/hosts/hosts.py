"""Hosts: the machines that sandboxes are placed on, for administrators.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.hosts import hosts as made


class AsyncHosts(AsyncNoun[made.Hosts]):
    """The machines that sandboxes are placed on."""

    blocking = made.Hosts
    list = Awaited(made.Hosts.list)
    add = Awaited(made.Hosts.add)
    get = Awaited(made.Hosts.get)
    change = Awaited(made.Hosts.change)
    remove = Awaited(made.Hosts.remove)
    check = Awaited(made.Hosts.check)
    trust = Awaited(made.Hosts.trust)
    drain = Awaited(made.Hosts.drain)
    undrain = Awaited(made.Hosts.undrain)
