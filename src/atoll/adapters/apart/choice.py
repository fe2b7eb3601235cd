"""The person's choice of extensions: `extensions.json` in a home, written by `atoll extension`.

`on` adds to the setting `extensions`; `off` leaves out what is installed. It counts from the next
start on.
"""

import os
from pathlib import Path

import msgspec
import structlog

from atoll.domain.errors import Failed, Invalid
from atoll.ports.extension import MissingExtension

FILE = "extensions.json"
MAX_BYTES = 64 * 1024
_log = structlog.get_logger(__name__)

TROUBLES_FILE = Path("run") / "extensions.json"
"""The file of a home that holds its `ExtensionTroubles`."""
DISABLED = "it is disabled"
"""The beginning of the reason why an extension that somebody disabled is not there."""


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A choice of extensions, by names without `ext.`."""

    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()

    def enabled(self, name: str) -> "Choice":
        """Return the choice with the extension on."""
        off = tuple(one for one in self.off if one != name)
        return Choice(tuple(dict.fromkeys((*self.on, name))), off)

    def disabled(self, name: str) -> "Choice":
        """Return the choice with the extension off."""
        on = tuple(one for one in self.on if one != name)
        return Choice(on, tuple(dict.fromkeys((*self.off, name))))


def read_choice(home: Path) -> Choice:
    """Return the choice. Raises `Invalid` for a malformed file."""
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


class ExtensionTroubles(msgspec.Struct, frozen=True):
    """The extensions of a running control plane that do not work: those that were not loaded, and
    the faults of others, by name."""

    left_out: tuple[MissingExtension, ...] = ()
    troubles: dict[str, str] = {}


def read_troubles(home: Path) -> ExtensionTroubles:
    """Return the troubles that the control plane wrote last; none where there is no file."""
    try:
        with (home / TROUBLES_FILE).open("rb") as file:
            return msgspec.json.decode(file.read(MAX_BYTES), type=ExtensionTroubles)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return ExtensionTroubles()


def write_troubles(home: Path, troubles: ExtensionTroubles) -> None:
    """Write the troubles for `atoll doctor`; a home without `run` has no control plane."""
    place = home / TROUBLES_FILE
    if not place.parent.is_dir():
        return
    fresh = place.with_suffix(f".{os.getpid()}")
    try:
        fresh.write_bytes(msgspec.json.encode(troubles))
        fresh.replace(place)
    except OSError as err:
        _log.warning("extensions_not_noted", reason=err.strerror)
