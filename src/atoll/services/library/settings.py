"""Settings of the library: kept worktrees, repositories, and the entries that profiles name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Final
from urllib.parse import urlsplit

import msgspec

from atoll.domain.errors import Invalid
from atoll.domain.profile.profile import Reach

MAX_ENTRY_URL = 2000

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")
_KIND: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_SCHEMES: Final = frozenset({"https", "http", "wss", "ssh", "tcp"})


@dataclass(frozen=True, slots=True)
class KeptSettings:
    """Settings of kept worktrees.

    `kept_days`: how long worktrees are kept that outlived their sandbox.
    """

    kept_days: Annotated[int, msgspec.Meta(ge=1)] = 30

    @property
    def retention(self) -> timedelta:
        """Return how long a worktree is kept."""
        return timedelta(days=self.kept_days)


@dataclass(frozen=True, slots=True)
class RepositorySettings:
    """Settings of repositories.

    `allow_loopback_remotes`: repositories on this machine may be fetched (development).
    """

    allow_loopback_remotes: bool = False


class ReachabilityEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tunnel or an identity provider as `config.toml` describes it: a word for its kind, and the
    address by which clients find it. Whoever sees a sandbox that names it sees both."""

    kind: str
    url: str


@dataclass(frozen=True, slots=True)
class ReachabilitySettings:
    """Settings of reachability. Raises `Invalid` for an entry that cannot be meant.

    `tunnels`: by name, the tunnels that lead to this Atoll from elsewhere.
    `identities`: by name, the identity providers that clients of a sandbox use.
    A profile names an entry of each. Atoll opens no tunnel: it gives clients the entry.
    """

    tunnels: dict[str, ReachabilityEntry] = field(default_factory=dict)
    identities: dict[str, ReachabilityEntry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, entry in self.tunnels.items():
            _check_entry(name, entry, setting="tunnels")
        for name, entry in self.identities.items():
            _check_entry(name, entry, setting="identities")

    def check(self, named: Reach) -> None:
        """Check that there is what a profile names. Raises `Invalid` with the profile's field."""
        _check_known(named.tunnel, self.tunnels, field="reachability.tunnel", setting="tunnels")
        _check_known(
            named.identity, self.identities, field="reachability.identity", setting="identities"
        )

    def tunnel_of(self, named: Reach) -> ReachabilityEntry | None:
        """Return the tunnel that a profile names; None for one that is no longer there."""
        return None if named.tunnel is None else self.tunnels.get(named.tunnel)

    def identity_of(self, named: Reach) -> ReachabilityEntry | None:
        """Return the identity provider that a profile names; None for one that is no longer
        there."""
        return None if named.identity is None else self.identities.get(named.identity)


def _check_known(
    name: str | None, entries: Mapping[str, ReachabilityEntry], *, field: str, setting: str
) -> None:
    if name is not None and name not in entries:
        there = ", ".join(sorted(entries)) or "none"
        raise Invalid(
            f"{field} names {name[:80]!r}, and the setting {setting} has no such entry (it has: "
            f"{there}): name one of them, or have it added to config.toml",
            field=field,
        )


def _check_entry(name: str, entry: ReachabilityEntry, *, setting: str) -> None:
    if not _NAME.fullmatch(name):
        raise Invalid(
            f"{setting} has an entry {name[:80]!r}, which is no plain name", field=setting
        )
    if not _KIND.fullmatch(entry.kind):
        raise Invalid(
            f"{setting}.{name}: kind is a word of lower-case letters, digits and `-`",
            field=setting,
        )
    if not _is_public_address(entry.url):
        raise Invalid(
            f"{setting}.{name}: url must have a host, one of the schemes "
            f"{', '.join(sorted(_SCHEMES))}, and neither user nor fragment",
            field=setting,
        )


def _is_public_address(url: str) -> bool:
    """Report whether everybody may read an address: it holds no password."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return False
    if len(url) > MAX_ENTRY_URL or not url.isascii() or not url.isprintable() or " " in url:
        return False
    plain = parts.username is None and parts.password is None and not parts.fragment
    return parts.scheme in _SCHEMES and bool(host) and port != 0 and plain
