"""Ports of a sandbox on which something listens, as the kernel's tables inside name them.

Pure. The lines come from inside, so each is checked and their number is bounded. Only what the
loopback reaches counts; doors never do.
"""

import re
from dataclasses import dataclass
from typing import Final

from atoll.domain.network.forwarded_port import MOST_PORT, REFUSED_PORTS
from atoll.wire.words.previews import MAX_PORTS

FIRST_EPHEMERAL: Final = 32_768
"""The first port that Linux gives to programs that choose none."""

_LINE = re.compile(r"([0-9A-F]{8}|[0-9A-F]{32}) ([0-9A-F]{1,4})")
_REACHED: Final = frozenset(
    {
        *("00000000", "0100007F"),
        *("0" * 32, "00000000000000000000000001000000"),
        *("0000000000000000FFFF000000000000", "0000000000000000FFFF00000100007F"),
    }
)
"""The wildcards and loopbacks of IPv4 and IPv6, in words of the machine's order (proc(5))."""


@dataclass(frozen=True, slots=True)
class PortChange:
    """A port on which something began or ceased to listen."""

    port: int
    opened: bool


def read_listening(text: str) -> tuple[int, ...]:
    """Return the ports in order, at most `MAX_PORTS`. `text` has lines of an address and a port in
    hexadecimal digits; other lines are passed over."""
    found = set()
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None or match[1] not in _REACHED:
            continue
        port = int(match[2], 16)
        if 0 < port <= MOST_PORT and port not in REFUSED_PORTS:
            found.add(port)
    return tuple(sorted(found)[:MAX_PORTS])


def non_ephemeral_ports(ports: tuple[int, ...]) -> frozenset[int]:
    """Return the ports below the ephemeral range: programs choose those on purpose."""
    return frozenset(port for port in ports if port < FIRST_EPHEMERAL)


def changes(before: frozenset[int], after: frozenset[int]) -> tuple[PortChange, ...]:
    """Return what changed between two looks, in order of the ports."""
    moved = sorted(before ^ after)
    return tuple(PortChange(port, opened=port in after) for port in moved)
