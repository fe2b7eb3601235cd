"""Claims of pooled sandboxes while these and the zygote are killed, on the real wall.

Whoever claims gets a whole sandbox that nobody had, of the shape it asked for, or one that was
killed that very moment. `ATOLL_POOL_SEED` repeats the dice, as far as a race can be repeated, and
`ATOLL_POOL_KILLS` is how many claims the slow tier makes.
"""

import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from atoll.testing.zygote_rig import TIMEOUT_SECONDS, ZygoteRig, start_zygote
from atoll.wire.zygote import messages as wire
from atoll.zygote.host.home import POOL_PREFIX, Home
from atoll.zygote.records.record import SandboxRecord
from tests.peers.api import Pauses, until
from tests.peers.remains import groups_called, loops_below, pids_of
from tests.zygote.start.test_pool import ENV, known, shell

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root keeps spares")

SEED = int(os.environ.get("ATOLL_POOL_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
CLAIMS = int(os.environ.get("ATOLL_POOL_KILLS", "500"))
POOLED = 2
REFILL_SECONDS = 0.5
OTHER_SHAPE = wire.Limits(ptys=3)
ALSO_WRITABLE = ("/tmp", "/var/tmp", "/dev/shm", "/run")


class Claims:
    """Claims and kills in one home, and what was seen there."""

    def __init__(self, place: Path) -> None:
        self.dice = random.Random(SEED)
        self.rig = ZygoteRig(Home(place), start_zygote(place, 0, pool_size=POOLED), 0)
        self.uids: set[int] = set()
        self.seen: set[int] = set()
        self.names: set[str] = set()
        self.killed: set[int] = set()
        self.living: list[str] = []
        self.pooled = self.broken = self.number = 0

    def run(self, count: int) -> None:
        """Make so many claims."""
        with ThreadPoolExecutor(2) as threads:
            while self.number < count:
                self.number += 1
                victims = self._victims() if self.dice.random() < 0.3 else []
                killing = threads.submit(self._kill, victims)
                self._claim(f"sb_{self.number}")
                killing.result()
                if self.dice.random() < 0.7 or len(self.living) > 3:
                    self._destroy(self.living.pop(self.dice.randrange(len(self.living))))
                if self.dice.random() < 0.7:
                    self._wait_for_one()
                until(self._alive, lambda count: count <= POOLED)
                if self.dice.random() < 0.02:
                    self._restart()

    def _claim(self, sandbox_id: str) -> None:
        """Start a sandbox, and look at what it got."""
        kept = self.dice.random() < 0.3
        limits = OTHER_SHAPE if self.dice.random() < 0.15 else wire.Limits()
        self.living.append(sandbox_id)
        if kept:
            waits = wire.Start(sandbox_id, 1, "waits", pooled=True)
            first = self.rig.ask(waits)
            assert isinstance(first, wire.Started), first
        name = f"box-{self.number}"
        env = (*ENV, ("WHO", sandbox_id))
        answer = self.rig.ask(wire.Start(sandbox_id, 1, name, env=env, limits=limits))
        assert isinstance(answer, wire.Started), answer
        mine = known(self.rig, sandbox_id)
        self._note(mine)
        processes = {each.pid for each in mine.processes}
        self.pooled += mine.group.startswith(POOL_PREFIX)
        try:
            said = shell(
                self.rig, answer.box, "hostname; echo $WHO; ls -A /workspace /tmp; echo x > mine"
            )
        except (OSError, ValueError):
            assert processes & self.killed, f"{sandbox_id} does not answer, and nobody killed it"
            self.broken += 1
            return
        words = said.split()
        assert words == [name, sandbox_id, "/tmp:", "/workspace:"] or (processes & self.killed), (
            said
        )
        assert not mine.pooled
        assert answer.box.host_uid == mine.sandbox_uid

    def _note(self, mine: SandboxRecord) -> None:
        """Check that nobody had this sandbox, and remember it."""
        processes = {each.pid for each in mine.processes}
        uids = {mine.sandbox_uid, mine.runtime_uid}
        assert uids.isdisjoint(self.uids), f"{mine.sandbox_id} was given twice"
        assert mine.live and len(processes) == 3, mine
        self.uids |= uids
        self.names |= {mine.group or mine.sandbox_id}

    def _victims(self) -> list[int]:
        """Return a process of what waits, or none."""
        waiting = sorted(self.rig.list_pooled().items())
        if not waiting:
            return []
        name, spare = self.dice.choice(waiting)
        self.seen |= {spare.sandbox_uid, spare.runtime_uid}
        self.names.add(name)
        return [self.dice.choice(spare.processes).pid]

    def _kill(self, pids: list[int]) -> None:
        for pid in pids:
            self.killed.add(pid)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _wait_for_one(self) -> None:
        """Wait a moment for a sandbox in the pool. One that was killed is built anew only after the
        next start."""
        deadline, pauses = time.monotonic() + REFILL_SECONDS, Pauses()
        while not self.rig.list_pooled() and time.monotonic() < deadline:
            pauses.sleep()

    def _alive(self) -> int:
        """Return how many wait, or are still being ended."""
        runtimes = [each.processes[0].pid for each in self.rig.list_pooled().values()]
        return sum(Path(f"/proc/{pid}").exists() for pid in runtimes)

    def _destroy(self, sandbox_id: str) -> None:
        cleaned = self.rig.ask(wire.Destroy(sandbox_id))
        assert isinstance(cleaned, wire.Cleaned) and not cleaned.leftovers, cleaned
        assert not self.rig.home.box(sandbox_id).folder.exists()

    def _restart(self) -> None:
        """Kill the zygote; the next one sweeps what it left."""
        self.rig.process.kill()
        self.rig.process.wait(TIMEOUT_SECONDS)
        self.rig.process = start_zygote(self.rig.home.root, 0, pool_size=POOLED)

    def end(self) -> None:
        """End the zygote, and everything with it."""
        self.rig.process.terminate()
        self.rig.process.wait(TIMEOUT_SECONDS)


@pytest.fixture
def place() -> Iterator[Path]:
    """A home that is removed."""
    made = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(6, id="some"),
        pytest.param(CLAIMS, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(7200)]),
    ],
)
def test_claims_and_kills_at_random_leave_nothing(place: Path, count: int) -> None:
    print(f"ATOLL_POOL_SEED={SEED}")
    claims = Claims(place)
    try:
        claims.run(count)
        print(f"{claims.number} claims, {claims.pooled} of the pool, {claims.broken} killed")
        for each in claims.living:
            claims._destroy(each)
    finally:
        claims.end()
    uids = frozenset(claims.uids | claims.seen)
    until(lambda: pids_of(uids), lambda left: not left)
    until(lambda: loops_below(place), lambda left: not left)
    assert not [*(place / "boxes").glob("sb_*"), *(place / "boxes").glob(f"{POOL_PREFIX}*")]
    assert str(place) not in Path("/proc/self/mountinfo").read_text()
    assert not [group for name in claims.names for group in groups_called(name)]
    assert not [*_owned_by(uids, place)]


def _owned_by(uids: frozenset[int], place: Path) -> Iterator[str]:
    """Yield the files of these users: below a place, and in those where all users may write."""
    paths = [Path(folder, name) for folder, _, names in os.walk(place) for name in (".", *names)]
    for path in (*paths, *(each for top in ALSO_WRITABLE for each in Path(top).iterdir())):
        with suppress(OSError):
            if path.lstat().st_uid in uids:
                yield str(path)
