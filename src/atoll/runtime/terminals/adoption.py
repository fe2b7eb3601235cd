"""Terminals that outlive a runtime: what a later one must know of them, and what it finds.

Only a link has such terminals. The file holds what was asked for, never a variable's value or a
byte of output.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from atoll.domain.ids import TerminalId
from atoll.domain.terminals.size import Size
from atoll.ports.spawner import Process, Pty
from atoll.runtime.terminals.record import TerminalSpec

log = logging.getLogger("atoll.runtime")

MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class AdoptedTerminal:
    """A terminal that was found running: its size there, and the program on it."""

    pty: Pty
    process: Process
    size: Size


class KeptTerminal(msgspec.Struct, frozen=True):
    """A terminal as the next runtime needs it. `number` is `Pty.lasting`."""

    number: int
    id: str
    name: str
    argv: tuple[str, ...]
    cwd: str
    ring_bytes: int
    started_at: str
    creator: str | None = None
    lead: bool = False
    nonce: str = ""

    def spec(self, size: Size) -> TerminalSpec:
        """Return the terminal as it was asked for, with the size that it has by now."""
        return TerminalSpec(
            id=TerminalId(self.id),
            name=self.name,
            argv=self.argv,
            cwd=self.cwd,
            env=(),
            size=size,
            ring_bytes=self.ring_bytes,
            started_at=self.started_at,
            creator=self.creator,
            lead=self.lead,
            nonce=self.nonce,
        )


class TerminalShelf:
    """The terminals that last, in a file of the runtime's own; without `path` none do."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._kept: dict[int, KeptTerminal] = {}

    def load(
        self, adopted: Iterable[AdoptedTerminal]
    ) -> list[tuple[AdoptedTerminal, TerminalSpec]]:
        """Return each terminal that was found with what is known of it, and forget the others.
        One that nothing is known of is left out."""
        known = self._read()
        pairs = []
        for terminal in adopted:
            record = known.get(terminal.pty.lasting or 0)
            if record is not None:
                self._kept[record.number] = record
                pairs.append((terminal, record.spec(terminal.size)))
        self._write()
        return pairs

    def add(self, number: int | None, spec: TerminalSpec) -> None:
        """Keep a terminal; one without a number does not last."""
        if number is None:
            return
        self._kept[number] = KeptTerminal(
            number,
            spec.id,
            spec.name,
            spec.argv,
            spec.cwd,
            spec.ring_bytes,
            spec.started_at,
            spec.creator,
            spec.lead,
            spec.nonce,
        )
        self._write()

    def drop(self, number: int | None) -> None:
        """Forget a terminal that ended. Idempotent."""
        if number is not None and self._kept.pop(number, None) is not None:
            self._write()

    def _read(self) -> dict[int, KeptTerminal]:
        if self._path is None:
            return {}
        try:
            with self._path.open("rb") as file:
                content = file.read(MAX_BYTES)
            records = msgspec.json.decode(content, type=list[KeptTerminal])
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            log.error("what is known of running terminals cannot be read: %s", error)
            return {}
        return {record.number: record for record in records}

    def _write(self) -> None:
        if self._path is None:
            return
        fresh = self._path.with_name(self._path.name + ".new")
        try:
            fresh.write_bytes(msgspec.json.encode(list(self._kept.values())))
            fresh.replace(self._path)
        except OSError as error:
            log.error("a later runtime will not know these terminals: %s", error)
