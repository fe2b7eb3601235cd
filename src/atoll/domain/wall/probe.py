"""The wall as a process inside sees it: what a probe printed, and what that says of isolation.

The probe is a script of sh's own words, so that any image can run it; each line is the name of a
file, a space, and a line of that file. What was not printed is not known, and counts as missing. An
image that its owner chose may lie about itself; it cannot widen what stands outside.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from atoll.domain.wall.isolation import Isolation
from atoll.wire.words.walls import IsolationLevel

PROBE: Final = r"""
seen() {
  [ -r "$2" ] || return 0
  while IFS= read -r line || [ -n "$line" ]; do printf '%s %s\n' "$1" "$line"; done <"$2"
}
seen status /proc/self/status
seen uid_map /proc/self/uid_map
seen dev /proc/net/dev
seen route /proc/net/route
seen route6 /proc/net/ipv6_route
seen memory /sys/fs/cgroup/memory.max
seen memory /sys/fs/cgroup/memory/memory.limit_in_bytes
seen pids /sys/fs/cgroup/pids.max
seen pids /sys/fs/cgroup/pids/pids.max
"""

MAX_LINES: Final = 4000
_ALL_UIDS = ["0", "0", "4294967295"]
_UNLIMITED = 1 << 60
_REJECT = 0x0200
"""RTF_REJECT, linux/route.h."""


def apply_probe(isolation: Isolation, printed: bytes, *, bridged: bool = False) -> Isolation:
    """Return an isolation as it truly is: with a note for all that the probe shows to be missing,
    beside those that the backend made itself. A network that is `bridged` is closed at the bridge,
    which no route inside shows."""
    said = _parse_lines(printed)
    own = {note.partition(":")[0] for note in isolation.degraded}
    own |= {"network"} if bridged else set()
    found = (note for note in _notes(said, isolation.level) if note.partition(":")[0] not in own)
    return replace(isolation, degraded=(*isolation.degraded, *found))


def open_network(isolation: Isolation) -> str:
    """Return why the network of a wall is not closed; empty where it is."""
    notes = (note.partition(":") for note in isolation.degraded)
    return next((why.strip() for name, _, why in notes if name == "network"), "")


def _parse_lines(printed: bytes) -> Mapping[str, list[list[str]]]:
    """Return the words of each line, by file."""
    said: dict[str, list[list[str]]] = {}
    for line in printed.decode("ascii", "replace").split("\n")[:MAX_LINES]:
        name, *words = line.split()[:32] or [""]
        said.setdefault(name, []).append(words)
    return said


def _notes(said: Mapping[str, list[list[str]]], level: IsolationLevel) -> Iterator[str]:
    status = {words[0]: words[1:] for words in said.get("status", ()) if words}
    yield from _rights(status, said.get("uid_map", []))
    why = _way_out(said)
    if why:
        yield f"network: {why}"
    if level is IsolationLevel.MICROVM:
        return  # the machine is the bound, and nobody else is on it
    for name in ("memory", "pids"):
        if not any(_bounds(words) for words in said.get(name, ())):
            yield f"{name}: no bound was found inside"


def _rights(status: Mapping[str, list[str]], uid_map: list[list[str]]) -> Iterator[str]:
    uids = status.get("Uid:", ())
    if not uids:
        yield "uid: who programs inside are could not be found out"
    elif "0" in uids and uid_map in ([], [_ALL_UIDS]):
        yield "uid: programs inside are root of their machine"
    if _hex(status.get("CapEff:")) != 0 or _hex(status.get("CapPrm:")) != 0:
        yield "capabilities: programs inside hold some, or it could not be found out"
    if status.get("NoNewPrivs:") != ["1"]:
        yield "privileges: programs inside may gain new ones"
    if status.get("Seccomp:") != ["2"]:
        yield "seccomp: system calls are not filtered"


def _way_out(said: Mapping[str, list[list[str]]]) -> str:
    """Return how a packet leaves without a door. Neighbours on a network of the sandbox's own have
    no gateway."""
    devices = {words[0].partition(":")[0] for words in said.get("dev", ()) if words}
    devices -= {"Inter-|", "face"}
    if "lo" not in devices:
        return "what it reaches could not be found out"
    others = devices - {"lo"}
    if not others:
        return ""
    if "route" not in said:
        return "its routes could not be found out"
    for words in said["route"]:
        if words[:1] != ["Iface"] and _leaves(words):
            return f"a route leads out by {words[0][:15] if words else '?'}"
    for words in said.get("route6", ()):
        if _leaves6(words):
            return f"a route of IPv6 leads out by {words[-1][:15] if words else '?'}"
    return ""


def _leaves(words: list[str]) -> bool:
    """Report whether a line of /proc/net/route has a gateway or is a default route; one that cannot
    be read does."""
    if len(words) < 8:
        return True
    return _hex(words[2:3]) != 0 or (_hex(words[1:2]), _hex(words[7:8])) == (0, 0)


def _leaves6(words: list[str]) -> bool:
    """Report the same of a line of /proc/net/ipv6_route."""
    if len(words) < 10:
        return True
    flags = _hex(words[8:9])
    if words[9] == "lo" or (flags is not None and flags & _REJECT):
        return False
    return _hex(words[4:5]) != 0 or (_hex(words[0:1]), _hex(words[1:2])) == (0, 0)


def _hex(words: list[str] | None) -> int | None:
    """Return the number of the only word; None for anything else."""
    if words is None or len(words) != 1:
        return None
    try:
        return int(words[0], 16)
    except ValueError:
        return None


def _bounds(words: list[str]) -> bool:
    """Report whether a line of a control group is a limit that is one."""
    text = words[0] if len(words) == 1 else ""
    return text.isascii() and text.isdecimal() and len(text) <= 20 and int(text) < _UNLIMITED
