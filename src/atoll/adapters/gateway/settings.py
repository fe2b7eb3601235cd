"""Settings of the SSH gateway."""

from dataclasses import dataclass

from atoll.domain.errors import Invalid

MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class SshSettings:
    """Settings of the SSH gateway. Raises `Invalid` for an address that cannot be meant.

    `ssh_address`: where it listens, as `host:port` or `[host]:port`; port 0 takes any that is free.
    Empty: nowhere, and `atoll ssh` goes through the server.
    """

    ssh_address: str = ""

    def __post_init__(self) -> None:
        self.place()

    def place(self) -> tuple[str, int] | None:
        """Return host and port, None where it listens nowhere."""
        if not self.ssh_address:
            return None
        host, colon, port = self.ssh_address.rpartition(":")
        if not (colon and host and port.isascii() and port.isdigit() and int(port) <= MAX_PORT):
            raise Invalid(
                f"ssh_address is host:port, as 0.0.0.0:2222, not {self.ssh_address[:80]!r}",
                field="ssh_address",
            )
        return host.removeprefix("[").removesuffix("]"), int(port)
