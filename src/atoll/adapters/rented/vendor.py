"""The calls of a vendor that rents machines. Everything else about renting is the same for all.

A vendor may be slow, wrong or gone at any moment, and an answer may be lost after the deed. So a
machine carries our tags, and a deadline at the vendor that ends it without us.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from atoll.adapters.linked.shell import Shell
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import VendorKey
from atoll.ports.far import MachineLost

LIFE_SECONDS = 1800
"""The deadline of a machine at its vendor, from its last renewal."""

OURS = "atoll"
SANDBOX = "atoll-sandbox"
INSTALLATION = "atoll-installation"
"""The names of our tags: the home that rented it, the sandbox it was rented for, and the
installation that the home is."""

Tags: TypeAlias = tuple[tuple[str, str], ...]


class Gone(MachineLost):
    """A machine that the vendor does not have any more."""


@dataclass(frozen=True, slots=True)
class Order:
    """A machine to rent. `template` is the vendor's name for what it shows, `seconds` how long it
    lives unless renewed. The same `token` never gives two machines where the vendor allows it.
    `profile` is for vendors whose machines take their limits from it."""

    template: str
    tags: Tags
    seconds: int
    token: str
    profile: Profile | None = None


@dataclass(frozen=True, slots=True)
class RentedMachine:
    """A machine that the vendor has. `ends_at` is its deadline as the vendor spells it. One that
    `ended` is a record that the vendor keeps until it is removed."""

    id: str
    tags: Tags
    ends_at: str = ""
    ended: bool = False

    def tag(self, name: str) -> str:
        """Return the value of a tag; empty when there is none."""
        return dict(self.tags).get(name, "")


class RentedShell(Shell, Protocol):
    """A shell on a rented machine."""

    def fetch(self, script: str, *words: str) -> AsyncIterator[bytes]:
        """Yield the output of a script as it comes. Raises `Failed` when it ends badly."""
        ...


class Vendor(Protocol):
    """A vendor. Each call has a deadline and waits out a storm of refusals for a while. Raises
    `Unavailable` when it is not known whether a call did anything, `Failed` for a refusal (a wrong
    key, a template that is not there), `Gone` for a machine that is not there any more. No message
    holds a key."""

    @property
    def title(self) -> str:
        """The vendor's name in messages."""
        ...

    async def create(self, key: VendorKey, order: Order) -> RentedMachine:
        """Rent a machine whose network is closed."""
        ...

    def find(self, key: VendorKey, tags: Tags) -> AsyncIterator[RentedMachine]:
        """Yield the machines that carry all of these tags."""
        ...

    async def renew(self, key: VendorKey, machine: str, seconds: int) -> None:
        """Move a machine's deadline to `seconds` from now."""
        ...

    async def end(self, key: VendorKey, machine: str) -> bool:
        """End a machine; returns whether it was there. Idempotent."""
        ...

    async def shell(self, key: VendorKey, machine: str) -> RentedShell:
        """Return a shell of an ordinary user there."""
        ...

    async def close(self) -> None:
        """Close what is open; idempotent."""
        ...
