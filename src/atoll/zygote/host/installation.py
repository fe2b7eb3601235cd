"""The identity of an installation: made once, kept in its home.

Two homes may have one path, on two machines or in two containers, and share a Docker Engine, a user
of another machine or an account at a vendor. What a home leaves there has its installation's names,
so that neither takes the other's for its own.
"""

import hashlib
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec

FILE = "boxes/installation.json"
"""Below the home, where only the zygote's user writes."""

MAX_BYTES = 4096
PREFIX_LENGTH = len("atoll-") + 6
"""The beginning of a tag that is made of the home's path, by which a person finds it."""


class Installation(msgspec.Struct, frozen=True):
    """`tag` begins the names of control groups, units, containers and folders on other machines.
    `id` is in the labels of what a survey may end. `home` is where both were made."""

    id: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{32}\Z")]
    tag: Annotated[str, msgspec.Meta(pattern=r"^atoll-[0-9a-f]{10,12}\Z")]
    home: str


def read_installation(home: Path) -> Installation:
    """Return the identity that a home keeps. One that keeps none has names made of its path."""
    return _read(home) or Installation(_digest(home, 16), _tag_of_path(home), str(home))


def keep_installation(home: Path, *, used: bool) -> None:
    """Make the identity of a home that has none. One that was `used` before there were identities
    keeps the tag of its path, by which everything of it is named. A copy of a home that is still
    there becomes an installation of its own. Raises `OSError`."""
    kept = _read(home)
    if kept is None:
        tag = _tag_of_path(home) if used else _new_tag(home)
        _write(home, Installation(secrets.token_hex(16), tag, str(home)), replace=False)
    elif kept.home != str(home) and (other := _read(Path(kept.home))) and other.id == kept.id:
        made = Installation(secrets.token_hex(16), _new_tag(home), str(home))
        _write(home, made, replace=True)


def _read(home: Path) -> Installation | None:
    try:
        descriptor = os.open(home / FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return msgspec.json.decode(file.read(MAX_BYTES), type=Installation)
    except (OSError, msgspec.MsgspecError):
        return None


def _write(home: Path, made: Installation, *, replace: bool) -> None:
    """Write the file whole. Of two that make it at once, the first one's stays."""
    place = home / FILE
    descriptor, new = tempfile.mkstemp(prefix="installation-", dir=place.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(made))
        Path(new).chmod(0o644)
        if replace:
            Path(new).rename(place)
        else:
            with suppress(FileExistsError):
                os.link(new, place)
    finally:
        Path(new).unlink(missing_ok=True)


def _new_tag(home: Path) -> str:
    """Return a tag that no other home has."""
    return _tag_of_path(home)[:PREFIX_LENGTH] + secrets.token_hex(3)


def _tag_of_path(home: Path) -> str:
    return f"atoll-{_digest(home, 5)}"


def _digest(home: Path, size: int) -> str:
    return hashlib.blake2b(bytes(home), digest_size=size).hexdigest()
