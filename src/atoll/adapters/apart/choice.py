"""The person's choice of extensions: `extensions.json` in a home, written by `atoll extension`.

`on` adds to the setting `extensions`; `off` leaves out what is installed. It counts from the next
start on.
"""

import os
from pathlib import Path

import msgspec
import structlog

from atoll.domain.errors import Failed, Invalid
from atoll.ports.extension import Unloaded

FILE = "extensions.json"
MAX_BYTES = 64 * 1024
_log = structlog.get_logger(__name__)

STANDING = Path("run") / "extensions.json"
"""The file in a home that says what is left out and what is in trouble."""
DISABLED = "it is disabled"
"""The beginning of the reason why an extension that somebody disabled is not there."""


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names without `ext.`."""

    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()

    def enabled(self, name: str) -> "Choice":
        """Return the choice with one more on."""
        off = tuple(one for one in self.off if one != name)
        return Choice(tuple(dict.fromkeys((*self.on, name))), off)

    def disabled(self, name: str) -> "Choice":
        """Return the choice with one more off."""
        on = tuple(one for one in self.on if one != name)
        return Choice(on, tuple(dict.fromkeys((*self.off, name))))


def read_choice(home: Path) -> Choice:
    """Return the choice. Raises `Invalid` for a file that is none."""
    try:
        text = (home / FILE).read_bytes()[: MAX_BYTES + 1]
    except FileNotFoundError:
        return Choice()
    except OSError as err:
        raise Invalid(f"{home / FILE} cannot be read: {err.strerror}") from err
    try:
        return msgspec.json.decode(text, type=Choice)
    except (msgspec.MsgspecError, UnicodeDecodeError) as err:
        raise Invalid(f"{home / FILE} is no choice of extensions: {err}") from err


def write_choice(home: Path, choice: Choice) -> None:
    """Store the choice. Raises `Failed`."""
    place = home / FILE
    fresh = place.with_name(f"{FILE}.{os.getpid()}")
    try:
        fresh.write_bytes(msgspec.json.encode(choice) + b"\n")
        fresh.chmod(0o644)
        fresh.replace(place)
    except OSError as err:
        raise Failed(f"{place} cannot be written: {err.strerror}") from err


class Standing(msgspec.Struct, frozen=True):
    """The extensions of a running control plane that do not work: those that were left out, and
    what is wrong with others, by name."""

    left_out: tuple[Unloaded, ...] = ()
    troubles: dict[str, str] = {}


def read_standing(home: Path) -> Standing:
    """Return what the control plane last wrote; nothing where it wrote none."""
    try:
        with (home / STANDING).open("rb") as file:
            return msgspec.json.decode(file.read(MAX_BYTES), type=Standing)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return Standing()


def write_standing(home: Path, standing: Standing) -> None:
    """Leave it for `atoll doctor`. A home without `run` is not one that runs."""
    place = home / STANDING
    if not place.parent.is_dir():
        return
    fresh = place.with_suffix(f".{os.getpid()}")
    try:
        fresh.write_bytes(msgspec.json.encode(standing))
        fresh.replace(place)
    except OSError as err:
        _log.warning("extensions_not_noted", reason=err.strerror)
