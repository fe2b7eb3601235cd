"""What `--times` measures: the processor time of each group and each test, daemons included.

The kernel counts it for a control group, which processes inherit. Where none can be made, only
processes that were waited for are counted. Sources: cgroups(7); `cpuacct.usage` of v1 counts
nanoseconds, `cpu.stat` of v2 microseconds.
"""

import contextlib
import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

PLUGIN = "tests.processor_times"
DEAREST = 50


class Meter:
    """Measures groups whose names are given, and prints what they and their tests took."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = _own_group()
        self.groups: dict[str, float] = {}

    @contextlib.contextmanager
    def measure(self, name: str) -> Iterator[Mapping[str, str]]:
        """Yield what the group's environment must hold, and count until the end."""
        env = {"ATOLL_CPU_TIMES": str(self.folder / f"{name}.times")}
        if self.place is None:
            yield env
            return
        counted = self.place[0] / f"atoll-times-{os.getpid()}-{name}"
        # Below it, as a zygote makes its own group beside that of its starter.
        (counted / "tests").mkdir(parents=True, exist_ok=True)
        usage = counted / self.place[1]
        try:
            yield {**env, "ATOLL_CPU_GROUP": str(counted / "tests"), "ATOLL_CPU_USAGE": str(usage)}
        finally:
            self.groups[name] = seconds_of(usage.read_text())
            with contextlib.suppress(OSError):
                (counted / "tests").rmdir()
                counted.rmdir()

    def report(self) -> Iterator[str]:
        """Yield the lines of the report: groups, then files and tests, the dearest first."""
        tests: dict[str, float] = {}
        for file in sorted(self.folder.glob("*.times")):
            found: dict[str, float] = json.loads(file.read_text())
            tests |= {f"{name} ({file.stem})": took for name, took in found.items()}
        if self.place is None:
            yield "No control group could be made: what outlived its test is not counted."
        yield f"Processor time of all groups: {sum(self.groups.values()):.0f} s"
        yield from _table(self.groups, len(self.groups))
        files: dict[str, float] = defaultdict(float)
        for name, took in tests.items():
            files[name.partition("::")[0]] += took
        yield f"The dearest of {len(files)} files:"
        yield from _table(files, DEAREST)
        yield f"The dearest of {len(tests)} tests:"
        yield from _table(tests, DEAREST)


def seconds_of(counter: str) -> float:
    """Return the seconds that a counter of the kernel shows."""
    if counter.startswith("usage_usec"):
        return int(counter.split()[1]) / 1e6
    return int(counter) / 1e9


def enter_group(argv: Sequence[str]) -> list[str]:
    """Return the argv that first moves itself into the group of `ATOLL_CPU_GROUP`."""
    return ["sh", "-c", 'echo $$ >"$ATOLL_CPU_GROUP/cgroup.procs" && exec "$@"', "sh", *argv]


def _table(took: Mapping[str, float], most: int) -> Iterator[str]:
    dearest = sorted(took.items(), key=lambda one: -one[1])
    for name, seconds in dearest[:most]:
        yield f"  {seconds:8.2f} s  {name}"


def _own_group() -> tuple[Path, str] | None:
    """Return our control group, where we may make others, and the name of its counter."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    own = {controllers: path for _number, controllers, path in (one.split(":", 2) for one in lines)}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        head, _dash, tail = line.partition(" - ")
        kind, options = tail.split()[0], tail.split()[-1].split(",")
        mount = Path(head.split()[4])
        for controllers, path in own.items():
            counter = "cpu.stat" if not controllers else "cpuacct.usage"
            wanted = "cgroup" if controllers else "cgroup2"
            if kind != wanted or not set(controllers.split(",")) <= {"", *options}:
                continue
            group = mount / path.lstrip("/")
            if (group / counter).exists() and os.access(group, os.W_OK):
                return group, counter
    return None
