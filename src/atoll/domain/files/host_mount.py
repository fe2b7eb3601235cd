"""Host directories mounted in a sandbox: which are allowed, and where. Pure rules on names.

Each is requested by the person at this machine, whose grant lies in the home, or lies below a
directory that the settings allow. The zygote, which mounts, checks what the names lead to.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from atoll.domain.errors import Forbidden, Invalid
from atoll.domain.files.private_folder import private_path, refuse_private
from atoll.wire.words.sandboxes import MAX_MOUNTS

MAX_PATH = 1024
TARGETS = ("/mnt", "/srv", "/data")
"""The allowed targets: nothing of the sandbox's own lies there, whatever its root is."""

NEVER = (
    "/etc", "/proc", "/sys", "/dev", "/root", "/boot", "/run", "/var/run", "/var/lib/docker",
    "/var/lib/containerd", "/usr", "/bin", "/sbin", "/lib", "/lib64",
)  # fmt: skip
"""Paths refused with everything below, even when a person requests them by name."""

_GRANT = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class HostMount:
    """A mount of the host's `source` at `target`, read-only unless `writable`. `grant` names the
    person's consent, a file in the home; empty where the settings allow the directory. `private`: a
    person agreed to show a directory with keys or logins (`domain.files.private_folder`)."""

    source: str
    target: str
    writable: bool = False
    grant: str = ""
    private: bool = False

    def __str__(self) -> str:
        """Return the mount as people write it, without its grant, which is internal."""
        return f"{self.source}:{self.target}:{'rw' if self.writable else 'ro'}"


def read_host_mounts(requested: Iterable[HostMount], roots: Iterable[str]) -> tuple[HostMount, ...]:
    """Return the allowed mounts. Raises `Invalid` for odd names, `Forbidden` for what is neither
    granted nor below one of `roots`."""
    mounts, allowed = tuple(requested), tuple(roots)
    if len(mounts) > MAX_MOUNTS:
        raise Invalid(f"at most {MAX_MOUNTS} folders can be mounted", field="mounts")
    for number, mount in enumerate(mounts):
        check_target(mount.target)
        check_source(mount.source)
        if mount.grant and not _GRANT.fullmatch(mount.grant):
            raise Invalid("this is no grant of a mount", field=f"mounts[{number}].grant")
        if not mount.grant and not below_any(mount.source, allowed):
            raise Forbidden(
                f"{mount.source} may not be mounted: only what `mount_roots` in config.toml "
                "allows, or what the person at this machine asks for by `atoll new --mount`",
                field=f"mounts[{number}].source",
            )
        if not mount.private and private_path(mount.source):
            raise refuse_private(mount.source, field=f"mounts[{number}].source")
    if len({mount.target for mount in mounts}) != len(mounts):
        raise Invalid("two folders cannot be mounted at the same place", field="mounts")
    return mounts


def check_source(path: str) -> None:
    """Check a source. Raises `Invalid` for a path that is not plain, `Forbidden` for system
    directories."""
    _check_plain(path, "source")
    if path == "/" or below_any(path, NEVER) or any(below_any(one, (path,)) for one in NEVER):
        raise Forbidden(
            f"{path} is, or holds, a folder of the system's own: it is never mounted",
            field="mounts",
        )


def check_target(path: str) -> None:
    """Check a target. Raises `Invalid` unless it is one of `TARGETS` or below."""
    _check_plain(path, "target")
    if not below_any(path, TARGETS):
        raise Invalid(
            f"nothing can be mounted at {path}: only at {', '.join(TARGETS)} and below",
            field="mounts",
        )


def below_any(path: str, tops: Iterable[str]) -> bool:
    """Report whether a path is one of these or lies below one."""
    return any(path == top or path.startswith(top.rstrip("/") + "/") for top in tops)


def _check_plain(path: str, what: str) -> None:
    plain = PurePosixPath(path)
    if (
        not path.startswith("/")
        or path.startswith("//")
        or str(plain) != path
        or ".." in plain.parts
        or len(path) > MAX_PATH
        or not path.isprintable()
        or ":" in path
    ):
        raise Invalid(
            f"{path[:80]!r} is no plain absolute path: no `..`, no `:`, no doubled slash",
            field=f"mounts.{what}",
        )
