"""Pointers of the people at one terminal: where each points, and what each has selected.

Places are cells of the screen, never what they show. Only clients that take part send and receive
them. Nothing stores them.
"""

from dataclasses import dataclass

from atoll.domain.terminals.size import COLS, ROWS

EVERY_SECONDS = 0.1
"""The least time between two reports to the clients."""
MAX_SCROLLED = 100_000
"""Rows above the screen: what a client scrolled back to."""

Cell = tuple[int, int]
"""Row and column; rows above the screen are negative."""
Range = tuple[int, int, int, int]
"""First cell, and the cell after the last."""


@dataclass(frozen=True, slots=True)
class PointerPlace:
    """The place of one client: `at` its pointer, `selected` its selection; None: there is none."""

    at: Cell | None = None
    selected: Range | None = None


class Pointers:
    """The newest place of each client that takes part."""

    def __init__(self) -> None:
        self._places: dict[str, PointerPlace] = {}

    @property
    def clients(self) -> tuple[str, ...]:
        """The clients that take part."""
        return tuple(self._places)

    @property
    def shown(self) -> tuple[tuple[str, PointerPlace], ...]:
        """The places to show, by client."""
        return tuple((client, one) for client, one in self._places.items() if one != PointerPlace())

    def point(self, client: str, place: PointerPlace) -> bool:
        """Take part, with this place. Returns whether there is anything new to report."""
        bounded = PointerPlace(_cell(place.at), _range(place.selected))
        known = self._places.get(client)
        self._places[client] = bounded
        return known is None or known != bounded

    def leave(self, client: str) -> bool:
        """Take part no more. Returns whether there is anything new to report."""
        return self._places.pop(client, PointerPlace()) != PointerPlace()


def _cell(at: Cell | None) -> Cell | None:
    return None if at is None else _clamp_cell(at[0], at[1])


def _range(selected: Range | None) -> Range | None:
    if selected is None:
        return None
    return (*_clamp_cell(selected[0], selected[1]), *_clamp_cell(selected[2], selected[3]))


def _clamp_cell(row: int, column: int) -> Cell:
    return max(-MAX_SCROLLED, min(row, ROWS[1])), max(0, min(column, COLS[1]))
