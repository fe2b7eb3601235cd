"""SSH keys, by which people log in to their sandboxes."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import ItemId
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.people import MAX_KEY_LINE, MAX_SSH_KEYS


class SshKeyBody(Request):
    """A public key as OpenSSH writes it, one line of a file `.pub`; without a `name` it has that of
    its comment."""

    key: Annotated[str, Meta(min_length=1, max_length=MAX_KEY_LINE)]
    name: Annotated[str, Meta(max_length=100)] = ""


class SshKeyView(Answer):
    """A key. `fingerprint` is what `ssh-keygen -l` prints; `used_at` is null until the first
    login."""

    key_id: str
    name: str
    kind: str
    fingerprint: str
    added_at: str
    used_at: str | None


class SshKeyList(Answer):
    """The caller's keys."""

    keys: list[SshKeyView]


class SshKeys(Area):
    """Public keys of people."""

    tag = "ssh"
    needs = "token.manage"

    @operation("POST /v1/ssh/keys", name="add_ssh_key", status=201, problems=(409,))
    def add(self, body: SshKeyBody) -> SshKeyView:
        """Add a public key: whoever has the private one logs in to the caller's sandboxes."""

    @operation("GET /v1/ssh/keys", name="list_ssh_keys", max_items=MAX_SSH_KEYS)
    def list(self) -> SshKeyList:
        """Return the caller's keys."""

    @operation("DELETE /v1/ssh/keys/{ssh_key}", name="remove_ssh_key", status=204, problems=(404,))
    def remove(self, ssh_key: ItemId) -> None:
        """Remove a key: nobody logs in by it from now on."""
