"""Names of preview origins: one host for each sandbox and port, or for each pull request of an app.

Pure. A name is `{port}-{sandbox}.{domain}` or `pr-{number}.{app}.{domain}`. It says the sandbox's
id, never its name: a name can be given to another sandbox, whose pages would then find the service
workers and the storage of the first.
"""

import re
from typing import Final

from atoll.domain.errors import Invalid
from atoll.domain.ids import SandboxId
from atoll.wire.words.previews import MAX_APP

LOOPBACK_DOMAIN: Final = "localhost"
"""The domain on one machine: browsers resolve every name below it to the loopback (RFC 6761)."""

MAX_DOMAIN: Final = 180

_PREFIX: Final = "sb_"
_PORT = r"[1-9][0-9]{0,4}-sb-[a-z0-9]{1,40}"
_APP = r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?"
_LABEL = re.compile(rf"{_PORT}|pr-[1-9][0-9]{{0,8}}\.{_APP}")
_READ_APP = re.compile(_APP)
_DOMAIN = re.compile(
    r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*"
)
_DIGITS = re.compile(r"[0-9.]+")


def port_label(port: int, sandbox_id: SandboxId) -> str:
    """Return what stands before the domain in the name of a sandbox's port. Raises `Invalid` for an
    id that is no part of a DNS name."""
    label = f"{port}-sb-{sandbox_id.removeprefix(_PREFIX)}"
    if not sandbox_id.startswith(_PREFIX) or _LABEL.fullmatch(label) is None:
        raise Invalid(f"{sandbox_id[:80]!r} has no preview: its id is no part of a host's name")
    return label


def pull_request_label(number: int, app: str) -> str:
    """Return what stands before the domain in the name of a pull request's preview."""
    return f"pr-{number}.{app}"


def read_app(app: str) -> str:
    """Return the name of an app. Raises `Invalid` for one that is no label of DNS."""
    if _READ_APP.fullmatch(app) is None:
        raise Invalid(
            f"an app's name has 1 to {MAX_APP} of a-z, 0-9 and -, none of - at its ends",
            field="app",
        )
    return app


def read_label(host: str, domain: str) -> str | None:
    """Return what stands before the domain in a preview's host name, None for any other name.

    `host` has no port. Only one spelling names a preview: small letters, no dot at the end.
    """
    label = host.removesuffix(f".{domain}")
    return label if label != host and _LABEL.fullmatch(label) else None


def read_domain(domain: str) -> str:
    """Return the domain of previews. Raises `Invalid` for what is no host's name."""
    if len(domain) > MAX_DOMAIN or _DOMAIN.fullmatch(domain) is None or _DIGITS.fullmatch(domain):
        raise Invalid(
            "preview_domain must be the name of a domain in small letters, without a port, such "
            "as previews.example.org",
            field="preview_domain",
        )
    return domain


def check_apart(domain: str, hosts: frozenset[str]) -> None:
    """Check that no name of the server itself is in the domain of previews, or above it. Raises
    `Invalid`: a page below the server's own name can set cookies for it.

    Below `localhost` every name is apart: browsers treat it as they treat `com`.
    """
    for host in sorted(hosts if domain != LOOPBACK_DOMAIN else ()):
        if host == domain or host.endswith(f".{domain}") or domain.endswith(f".{host}"):
            raise Invalid(
                f"preview_domain {domain!r} must be apart from this server's name {host!r}: take a "
                "domain of its own, else previews could set cookies for the server",
                field="preview_domain",
            )
