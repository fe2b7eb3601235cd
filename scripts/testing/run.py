"""One run of all groups: lanes, what is tried again, and the result. `summary` prints the end."""

import contextlib
import datetime
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

from scripts.testing.groups import ROOT, UNITS, Group, affected_of, pytest
from scripts.testing.processor_time import PLUGIN, Meter, enter_group
from scripts.testing.retries import note_occurrences

MAX_LANES = 4
"""A group may start a browser and servers, so more would only wait for each other."""
MAX_RETRIED = 8
"""More failures are no accident."""
RETRIED = ROOT / "tests" / "retried.txt"
NOTHING_COLLECTED = 5
LAST_FAILED = ("--last-failed", "--last-failed-no-failures=none")
BIN = ROOT / ".venv" / "bin"


@dataclass
class Run:
    """Runs groups and keeps their logs in `folder`. `affected` are the test files to run, or None
    for all; `meter` measures the groups, or is None. Accidents are noted in `retried`."""

    folder: Path
    affected: frozenset[str] | None = None
    meter: Meter | None = None
    retried: Path = RETRIED
    failed: list[Group] = field(default_factory=list)
    passed_alone: list[str] = field(default_factory=list)
    too_often: list[str] = field(default_factory=list)
    _begun: float = field(default_factory=time.monotonic)
    _printing: threading.Lock = field(default_factory=threading.Lock)
    _running: set["subprocess.Popen[bytes]"] = field(default_factory=set)

    def run_all(self, groups: Sequence[Group], *, idle: Group, alone: Group) -> bool:
        """Run groups in lanes, beside them the idle one, and at last the one that runs alone. Run
        once more what failed. Returns whether all is well."""
        lanes = int(os.environ.get("ATOLL_TEST_LANES") or min(MAX_LANES, 2 * (os.cpu_count() or 1)))
        chosen = [*groups, idle] if lanes == 1 else [idle, *groups]
        signal.signal(signal.SIGTERM, self._interrupt)
        with ThreadPoolExecutor(lanes if lanes == 1 else lanes + 1) as pool:
            try:
                for done in [pool.submit(self._run_group, one) for one in chosen]:
                    done.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        self._run_group(alone)
        return not self.failed or self._retry()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Let groups end as Ctrl-C does, which a terminal sends to all of them."""
        for process in list(self._running):
            process.send_signal(signal.SIGINT)
        raise KeyboardInterrupt

    def _run_group(self, group: Group) -> None:
        """Run a group and print its output whole."""
        with self._printing:
            print(f"test: begun: {group.name}", flush=True)
        log = self.folder / f"{group.name}.log"
        status = self._run_logged(group, log, self._paths_of(group))
        with self._printing:
            word = "good" if status == 0 else "FAILED"
            print(f"\n=== {group.name}: {word} after {time.monotonic() - self._begun:.0f} s")
            print(log.read_text(errors="replace"), end="", flush=True)
            if status:
                self.failed.append(group)

    def _paths_of(self, group: Group) -> tuple[str, ...]:
        if self.affected is None:
            return (*group.paths, *(f"--ignore={path}" for path in group.ignored))
        return affected_of(group, sorted(self.affected))

    def _run_logged(self, group: Group, log: Path, paths: Sequence[str]) -> int:
        if group is UNITS:
            return self._run_units(log)
        if not paths:
            log.write_text("Nothing here is affected.\n")
            return 0
        words = ["-q", *group.options, "-o", f"cache_dir={self._cache_of(group)}"]
        words += [] if self.meter is None else ["-p", PLUGIN]
        argv = pytest(*words, "-m", group.marks, *paths)
        if group.covered and self.affected is None:
            coverage = str(BIN / "coverage")
            status = self._run(group.name, [coverage, "run", *argv[1:]], log)
            return status or self._run(f"{group.name}-report", [coverage, "report"], log)
        status = self._run(group.name, argv, log)
        return 0 if status == NOTHING_COLLECTED and self.affected is not None else status

    def _run_units(self, log: Path) -> int:
        """Run the page's own unit tests."""
        ui = ROOT / "ui"
        if self.affected is not None and "ui" not in self.affected:
            log.write_text("Nothing here is affected.\n")
            return 0
        if not (ui / "node_modules").is_dir():
            log.write_text("There is no ui/node_modules.\n")
            return 0
        return self._run("units", ["npm", "--prefix", str(ui), "run", "--silent", "test"], log)

    def _run(self, name: str, argv: Sequence[str], log: Path) -> int:
        """Run a program, append its output to the log, and return its exit status."""
        env = {**os.environ, "PATH": f"{os.environ['PATH']}:{BIN}"}
        # Two runs in one checkout must not share it.
        env["COVERAGE_FILE"] = str(self.folder / "coverage")
        # Without bytecode, each group would compile what all of them share.
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        with contextlib.ExitStack() as stack:
            out = stack.enter_context(log.open("ab"))
            if self.meter is not None:
                env |= stack.enter_context(self.meter.measure(name))
                argv = enter_group(argv) if "ATOLL_CPU_GROUP" in env else argv
            process = subprocess.Popen(
                argv, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
            self._running.add(process)
            try:
                return process.wait()
            finally:
                self._running.discard(process)

    def _cache_of(self, group: Group) -> Path:
        return self.folder / f"{group.name}.cache"

    def _failures_of(self, group: Group) -> list[str]:
        file = self._cache_of(group) / "v" / "cache" / "lastfailed"
        return [*json.loads(file.read_text())] if file.exists() else []

    def _retry(self) -> bool:
        """Run each test that failed once more, when nothing else runs. Returns whether all passed,
        and none of them has occurred too often."""
        tests = {group.name: self._failures_of(group) for group in self.failed}
        every_test = [test for found in tests.values() for test in found]
        accidents = all(tests.values()) and not any(one.deterministic for one in self.failed)
        if not accidents or len(every_test) > MAX_RETRIED:
            return False
        again = replace(self, meter=None)
        for group in self.failed:
            log = self.folder / f"{group.name}-again.log"
            status = again._run_logged(group, log, (*self._paths_of(group), *LAST_FAILED))
            print(f"\n=== {group.name}: what failed, once more, alone")
            print(log.read_text(errors="replace"), end="", flush=True)
            if status:
                return False
        self.passed_alone = every_test
        day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        self.too_often = note_occurrences(self.retried, every_test, day)
        return not self.too_often
