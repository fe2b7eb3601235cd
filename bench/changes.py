"""The changes of a large working tree, beside `git status` in the same sandbox.

Both are asked for over the API after one edit of one file, so that only the work inside differs.
Each comes first in every other round: the second one finds the files in the kernel's caches.
"""

import time

from bench.figures import Series, table, verdict
from bench.peers import milliseconds
from bench.server import Server, server

FOLDERS, FILES = 500, 100
ROUNDS = 16
WARM = 2
LAY_OUT = f"""
set -e
git init -q .
git config user.name bench
git config user.email bench@atoll.invalid
for d in $(seq {FOLDERS}); do
  mkdir -p "d$d"
  for f in $(seq {FILES}); do echo "$d $f" > "d$d/f$f"; done
done
git add -A
git commit -qm all
sleep 1.1
git status > /dev/null
"""


def changes() -> None:
    """`GET …/changes` of 50,000 files after one edit, beside `git status` inside."""
    ours, floor = Series("GET …/changes"), Series("git status inside, as an exec")
    with server() as atoll:
        sandbox = atoll.create()
        laid = atoll.run(sandbox, "sh", "-c", LAY_OUT)
        assert laid["exit_code"] == 0, laid
        for number in range(ROUNDS + WARM):
            atoll.run(sandbox, "sh", "-c", f"echo {number} >> d7/f7")
            both = ((floor, _status), (ours, _changes))
            for series, ask in both if number % 2 else reversed(both):
                took = ask(atoll, sandbox)
                if number >= WARM:
                    series.samples.append(took)
    table(f"changes of {FOLDERS * FILES:,} files after one edit", floor, ours)
    verdict("times git status", ours.median / floor.median, 1.5)


def _status(atoll: Server, sandbox: str) -> float:
    """Return the time of `git status` inside."""
    started = time.perf_counter()
    status = atoll.run(sandbox, "git", "status", "--porcelain", "-uall")
    took = milliseconds(started)
    assert status["exit_code"] == 0
    return took


def _changes(atoll: Server, sandbox: str) -> float:
    """Return the time of one answer, which lists the one file."""
    started = time.perf_counter()
    answer = atoll.api.get(f"/v1/sandboxes/{sandbox}/changes")
    took = milliseconds(started)
    answer.raise_for_status()
    assert [file["path"] for file in answer.json()["files"]] == ["d7/f7"]
    return took
