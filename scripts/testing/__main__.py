"""Run tests: everything that can run here, or what the words name.

scripts/test            everything but the slow tiers: two groups for each processor, at most four
                        at a time, as most tests wait more than they compute, and beside them what
                        hardly computes (ATOLL_TEST_LANES=1: one after the other). At most eight
                        tests that failed beside others are run once more, alone, and counted in
                        tests/retried.txt: a test's third time is a failure
scripts/test --times    the same, and the processor time of each group, file and test; also before
                        PATH...
scripts/test --pure     the pure core and the layout of the code, without coverage
scripts/test --changed[=REVISION]
                        what the changes since this branch left REVISION (main) can affect, with
                        those not committed, in the same groups; without coverage
scripts/test PATH...    pytest on these
scripts/test all        the usual run, and every tier that installs less than 500 MB
scripts/test slow       100 sandboxes, and whole matrices of which the usual run has one
scripts/test backends   what needs another wall than this machine's own (Docker)
scripts/test chaos      a minute of failing replicas, 10,000 events in every dialect, a control
                        plane of workers killed at each step of a request and 100 times at random,
                        a link cut 1,000 times, minutes of random operations and of random
                        requests, and an hour of redaction's random streams
scripts/test vendors    every model vendor's own SDK works through the broker (installs them)
scripts/test agents     every agent finishes a scripted task (installs them)
"""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from scripts import affected_tests
from scripts.testing.groups import (
    GROUPS,
    IDLE,
    LAYOUT,
    ROOT,
    WITHOUT_SCHEMATHESIS,
    group_alone,
    pytest,
)
from scripts.testing.processor_time import PLUGIN, Meter, enter_group
from scripts.testing.run import Run
from scripts.testing.summary import print_summary
from scripts.testing.tiers import TIERS, run_tier, run_tiers


def main(words: Sequence[str]) -> int:
    """Run what the words ask for, and return the exit status."""
    first = words[0] if words else ""
    if first in TIERS:
        return run_tier(first)
    if first == "all":
        usual = _run_groups()
        return run_tiers() or usual
    if first == "--pure":
        return _run_pure()
    if first == "--times":
        return _run_measured(words[1:]) if words[1:] else _run_groups(times=True)
    if first == "" or first.partition("=")[0] == "--changed":
        return _run_groups(since=first.partition("=")[2] or "main" if first else None)
    os.chdir(ROOT)
    os.execv(pytest()[0], pytest(*words))  # noqa: S606  an argv list of ours


def _run_groups(since: str | None = None, *, times: bool = False) -> int:
    """Run all groups, or what the changes since a revision affect."""
    with tempfile.TemporaryDirectory(prefix="atoll-test.", dir="/tmp") as name:
        folder = Path(name)
        affected = None if since is None else _find_affected(since)
        run = Run(folder, affected, Meter(folder) if times else None)
        groups = GROUPS if affected is None else (LAYOUT, *GROUPS)
        good = run.run_all(groups, idle=IDLE, alone=group_alone())
        print_summary(run, good=good)
    return 0 if good else 1


def _find_affected(since: str) -> frozenset[str] | None:
    """Return the affected test files; None for all."""
    chosen, unknown = affected_tests.find(since)
    for path in unknown:
        print(f"test: everything, as every test can depend on {path}")
    if unknown:
        return None
    print(f"test: {len(chosen)} files of tests are affected")
    return frozenset(chosen)


def _run_pure() -> int:
    """Run the pure core, and beside it the layout, whose output comes last."""
    options = ("-q", *WITHOUT_SCHEMATHESIS, "-p", "no:cacheprovider", "-m", "not slow")
    argv = pytest(*options, "tests/layout")
    layout = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    printed: list[bytes] = []
    reading = threading.Thread(target=lambda: printed.append(layout.communicate()[0]))
    reading.start()
    argv = pytest(*options, "tests/domain", "tests/wire")
    status = subprocess.run(argv, cwd=ROOT, check=False).returncode
    reading.join()
    sys.stdout.buffer.write(b"".join(printed))
    return status or layout.returncode


def _run_measured(words: Sequence[str]) -> int:
    """Run pytest on paths, and print what its tests took."""
    with tempfile.TemporaryDirectory(prefix="atoll-test.", dir="/tmp") as folder:
        meter = Meter(Path(folder))
        argv = pytest("-p", PLUGIN, *words)
        with meter.measure("tests") as env:
            argv = enter_group(argv) if "ATOLL_CPU_GROUP" in env else argv
            done = subprocess.run(argv, cwd=ROOT, env={**os.environ, **env}, check=False)
        print(*meter.report(), sep="\n")
    return done.returncode


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
