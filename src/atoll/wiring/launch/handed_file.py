"""Files of the person who starts Atoll, for the program that this process becomes.

A certificate's key or a secret is often root's alone, and the control plane has given root up. It
is handed over in memory: no copy lies on a disk.
"""

import os
import stat
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from atoll.domain.errors import Invalid
from atoll.zygote.host.own_settings import read_owned_file

MAX_BYTES = 256 * 1024
NAMED: Final = frozenset(
    {
        "bus_credentials",
        "bus_tls_key",
        "client_secret_file",
        "content_credentials_file",
        "drive_client_secret_file",
        "front_end_secret_file",
        "tls_key",
    }
)
"""The settings that name a private file, also inside tables."""

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def handed_over(path: Path) -> str:
    """Return a path to the bytes of `path` that stays readable when this process becomes another
    program of another user. Raises `Invalid` for a file that cannot be read or is too large."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Invalid(f"the file {path} cannot be read: {error.strerror}", field="tls") from error
    if len(data) > MAX_BYTES:
        raise Invalid(f"{path} is too large for a certificate or a key in PEM form", field="tls")
    return _keep(path.name, data)


def hand_over_named(home: Path, uid: int, environ: Mapping[str, str]) -> dict[str, str]:
    """Return for each private file of ours alone that a setting names a path where `uid` reads it
    in this process. A file that is not there, or that others own or read, is left as it is: the
    control plane judges it."""
    paths = {}
    for name in sorted({*_of_file(home), *_of_environ(environ)}):
        data = _read_own(Path(name)) if Path(name).is_absolute() else None
        if data is not None:
            paths[name] = _keep(Path(name).name, data, uid)
    return paths


def replace_named(settings: Mapping[str, object], handed: Mapping[str, str]) -> dict[str, object]:
    """Return settings in which each private file that was handed over is named by its new path."""
    return {name: _replace_paths(name, value, handed) for name, value in settings.items()}


def _replace_paths(name: str, value: object, handed: Mapping[str, str]) -> object:
    match value:
        case str() if name in NAMED:
            return handed.get(value, value)
        case dict():
            return replace_named(value, handed)
        case list():
            return [_replace_paths("", part, handed) for part in value]
        case _:
            return value


def _keep(name: str, data: bytes, uid: int | None = None) -> str:
    memory = os.memfd_create(name[:100], 0)
    with os.fdopen(os.dup(memory), "wb") as copy:
        copy.write(data)
    if uid is not None:
        os.fchown(memory, uid, uid)
        os.fchmod(memory, 0o600)
    return f"/proc/self/fd/{memory}"


def _read_own(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, _READ)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        is_private = stat.S_ISREG(status.st_mode) and not status.st_mode & 0o077
        if not is_private or status.st_uid != os.geteuid() or status.st_size > MAX_BYTES:
            return None
        return os.read(descriptor, MAX_BYTES)
    finally:
        os.close(descriptor)


def _of_file(home: Path) -> Iterator[str]:
    """Yield the private files that a `config.toml` names which only its owner can have written."""
    try:
        yield from _named_strings(tomllib.loads(read_owned_file(home / "config.toml").decode()))
    except (OSError, ValueError):
        return


def _of_environ(environ: Mapping[str, str]) -> Iterator[str]:
    for name in NAMED:
        if value := environ.get(f"ATOLL_{name.upper()}"):
            yield value


def _named_strings(value: object, name: str = "") -> Iterator[str]:
    if isinstance(value, str) and name in NAMED:
        yield value
    elif isinstance(value, dict):
        for inner, part in value.items():
            yield from _named_strings(part, inner)
    elif isinstance(value, list):
        for part in value:
            yield from _named_strings(part)
