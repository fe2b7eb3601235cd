"""SSH keys, by which people log in to their sandboxes.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.ssh import keys as made


class AsyncSshKeys(AsyncNoun[made.SshKeys]):
    """Public keys of people."""

    blocking = made.SshKeys
    add = Awaited(made.SshKeys.add)
    list = Awaited(made.SshKeys.list)
    remove = Awaited(made.SshKeys.remove)
