"""Settings of `ext.ssh` as `config.toml` spells them: the machines it may use."""

import re
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from atoll.domain.errors import Invalid

_NAME = r"^[a-z0-9][a-z0-9-]{0,62}\Z"
_USER = re.compile(r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}\Z")
_HOST = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9.:-]{0,252})\Z")
_ADDRESS = re.compile(r"^ssh://(?:([^@/]+)@)?(\[[0-9a-fA-F:]+\]|[^:/@\[\]]+)(?::([0-9]{1,5}))?/?\Z")
_KEY = re.compile(r"^[a-z0-9@.-]{3,64} [A-Za-z0-9+/=]{16,2048}\Z")


class SshHost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A machine. `address` is `ssh://user@host[:port]`, `host_key` the public key it must show
    (`ssh-ed25519 AAAA…`), `identity` the private key that opens it, a file."""

    address: str
    host_key: str
    identity: str

    def __post_init__(self) -> None:
        if not _KEY.match(self.host_key):
            raise Invalid("host_key is a type and a key, as in known_hosts", field="host_key")
        self.parsed()

    def parsed(self) -> tuple[str, str, int]:
        """Return user, host and port. Raises `Invalid`."""
        found = _ADDRESS.match(self.address)
        user, host, port = found.groups() if found else ("", "", None)
        host = (host or "").strip("[]")
        number = int(port or 22)
        if not user or not _USER.match(user) or not _HOST.match(host) or not 0 < number < 65536:
            raise Invalid(
                f"{self.address[:200]!r} is not `ssh://user@host` or `ssh://user@host:port`",
                field="address",
            )
        return user, host, number


@dataclass(frozen=True, slots=True)
class SshSettings:
    """Settings of `ext.ssh`.

    `ssh_hosts`: the machines, by a name of yours.
    """

    ssh_hosts: dict[Annotated[str, msgspec.Meta(pattern=_NAME)], SshHost] = field(
        default_factory=dict
    )
