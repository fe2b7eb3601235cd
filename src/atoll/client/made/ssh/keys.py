"""SSH keys, by which people log in to their sandboxes.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Shape
from atoll.client.transport import Call, Transport, api_path, get, post


class SshKey(Shape):
    """A key. `fingerprint` is what `ssh-keygen -l` prints; `used_at` is null until the first
    login."""

    key_id = fields.text()
    name = fields.text()
    kind = fields.text()
    fingerprint = fields.text()
    added_at = fields.text()
    used_at = fields.text()


class SshKeyList(Shape):
    """The caller's keys."""

    keys = fields.many(SshKey)


class SshKeyBody(TypedDict, total=False):
    """A public key as OpenSSH writes it, one line of a file `.pub`; without a `name` it has that
    of its comment."""

    key: Required[str]
    name: str


class SshKeys:
    """Public keys of people. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(self, body: SshKeyBody) -> SshKey:
        """Add a public key: whoever has the private one logs in to the caller's sandboxes."""
        return self._transport.read(SshKey, post("ssh", "keys", value=body))

    def list(self) -> SshKeyList:
        """Return the caller's keys."""
        return self._transport.read(SshKeyList, get("ssh", "keys"))

    def remove(self, ssh_key_id: str) -> None:
        """Remove a key: nobody logs in by it from now on."""
        self._transport.call(Call("DELETE", api_path("ssh", "keys", ssh_key_id)))
