"""Memory and processor time of an Atoll's processes, from /proc."""

from pathlib import Path

from atoll.zygote.host.title import has_title


def zygote_pss(home: Path) -> float:
    """Return the KiB of PSS of the zygote of `home` and all its descendants."""
    return sum(_pss(pid) for pid in _family(home, "zygote"))


def control_plane_pss(home: Path) -> float:
    """Return the same of the control plane and what it started, but for the zygote's."""
    return sum(_pss(pid) for pid in _family(home, "control") - _family(home, "zygote"))


def processor_seconds(home: Path) -> float:
    """Return the processor time that all of them have used."""
    wanted = _family(home, "zygote") | _family(home, "control")
    return sum(map(_seconds, wanted))


def _family(home: Path, title: str) -> set[int]:
    """Return the process of a title of `home`, and its descendants."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    wanted = {pid for pid in parents if _has_title(pid, title, home)}
    while more := {pid for pid, parent in parents.items() if parent in wanted} - wanted:
        wanted |= more
    return wanted


def _has_title(pid: int, title: str, home: Path) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return has_title(command, title, home)


def _pss(pid: int) -> float:
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    lines = [line.split() for line in rollup.splitlines() if line.startswith("Pss:")]
    return float(lines[0][1]) if lines else 0


def _seconds(pid: int) -> float:
    """Return the seconds that the tasks of a process ran: its ticks miss what is short."""
    total = 0
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            total += int(task.read_text().split()[0])
        except OSError:
            continue
    return total / 1e9
