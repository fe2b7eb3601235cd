"""Sandboxes that stand ready before somebody asks for them.

What takes long at a start does not depend on whose sandbox it is: two forks, a disk, a wall.
So after a start the zygote builds another one like it, for nobody, and the next order of that
shape only has to give it a name (`adoption`). A spare is fresh in everything: uids, disk,
groups, processes. It holds nothing of any other sandbox, has no key, no socket to be reached by
and no privilege, and nothing runs in it but init. Whatever does not fit is built as ever.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

import msgspec

from atoll.domain.errors import AtollError
from atoll.wire.zygote import messages as wire
from atoll.zygote.disk.disk_space import measured
from atoll.zygote.disk.host_root import etc_tree
from atoll.zygote.records.entry import Live, Order, Phase
from atoll.zygote.records.home import SPARE_PREFIX as PREFIX
from atoll.zygote.start.assignment import adopt
from atoll.zygote.start.host_resources import Born, Laid, Stillborn
from atoll.zygote.start.starts import Births
from atoll.zygote.stop.stopping import begin_funeral
from atoll.zygote.stop.teardown import Buried, end_session

NAME_BYTES = 8
SPARES = 2
REFILL_SECONDS = 0.02
"""After a start, so that it does not compete with what the start was for."""

RETIRE_SECONDS = 300.0
"""Without a start, after which none is kept: an idle machine has no use for them."""

_Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Shape:
    """What a wall was built for: a request without what can be given to it later. `sights` are
    device and inode of what it shows, which another folder may have replaced since."""

    request: wire.Start
    etc: Path
    sights: tuple[_Identity, ...]


@dataclass(slots=True)
class Spare:
    """One of them. Adopted, it is its `box`'s own child: `ended` is then told of its end."""

    shape: Shape
    box: Live
    ended: Callable[[Live, int], None] | None = None


@dataclass(slots=True)
class Spares:
    """At most `count`, shaped like the last orders. `busy` says when not to build any."""

    births: Births
    busy: Callable[[], bool]
    count: int = SPARES
    _wanted: deque[wire.Start] = field(default_factory=deque)
    _pool: list[Spare] = field(default_factory=list)
    _dying: int = 0
    _last_start: float = 0.0
    _planned: bool = False
    _armed: bool = False
    _closed: Callable[[], None] | None = None

    def take(self, request: wire.Start, ended: Callable[[Live, int], None]) -> Live | None:
        """A sandbox that stands, now that of `request`; None when none fits. `ended` is told
        when its runtime ends."""
        if self.count == 0 or request.mounts:
            return None  # somebody's own folders are not kept open for nobody
        self._expect_more(request)
        found = next((spare for spare in self._pool if self._fits(spare, request)), None)
        if found is None:
            return None
        self._pool.remove(found)
        box = found.box
        try:
            box.record = adopt(self.births.nursery, box, request)
        except (AtollError, OSError):
            # What is really wrong, an ordinary birth will find and say.
            self._bury(found)
            return None
        found.ended = ended
        box.start = request
        self.births.loop.forget(box.inside[0])
        box.keep = True
        return box

    def _expect_more(self, request: wire.Start) -> None:
        self._last_start = time.monotonic()
        self._wanted.append(self._general(request))
        if len(self._wanted) > self.count:
            self._wanted.popleft()
        self._plan()

    def _plan(self) -> None:
        if not self._planned:
            self._planned = True
            self.births.loop.later(REFILL_SECONDS, self._refill)

    def _general(self, request: wire.Start) -> wire.Start:
        """What remains of a request without all that `adopt` can still give. Whatever is not
        known here counts as part of the shape."""
        pids = None if self.births.nursery.groups.has("pids") else request.limits.pids
        return msgspec.structs.replace(  # noqa: S604  no subprocess has this `shell`
            request,
            sandbox_id=PREFIX,
            generation=1,
            hostname="sandbox",
            limits=msgspec.structs.replace(
                request.limits, memory_bytes=None, cpu_millis=None, pids=pids
            ),
            env=(),
            shell=("/bin/bash",),
            cwd="/workspace",
            broker=(),
            agents=(),
            fresh=False,
            sudo=(),
        )

    def _shape(self, general: wire.Start) -> Shape:
        """Raises `OSError` when something that shall be shown is not there."""
        trees = () if general.tree is None else (general.tree,)
        shown = (*trees, *(view.source for view in general.views))
        found = (Path(each).lstat() for each in shown)
        sights = tuple((each.st_dev, each.st_ino) for each in found)
        return Shape(general, etc_tree(self.births.nursery.home.roots), sights)

    def _fits(self, spare: Spare, request: wire.Start) -> bool:
        if spare.box.phase is not Phase.ALIVE or spare.shape.request != self._general(request):
            return False
        try:
            return spare.shape == self._shape(spare.shape.request)
        except OSError:
            return False

    def _refill(self) -> None:
        """Build one that is missing, another when it stands. One that nobody wants goes first."""
        self._planned = False
        if self._closed is not None or not self._wanted:
            return
        if self.busy():
            self._plan()
            return
        if any(spare.box.phase is Phase.BIRTH for spare in self._pool):
            return
        missing, unwanted = list(self._wanted), []
        for spare in self._pool:
            if spare.shape.request in missing:
                missing.remove(spare.shape.request)
            else:
                unwanted.append(spare)
        for spare in unwanted:
            self._pool.remove(spare)
            self._bury(spare)
        if missing:
            self._raise(missing[-1])

    def _raise(self, general: wire.Start) -> None:
        try:
            shape = self._shape(general)
            if measured(self.births.nursery.home, self.births.nursery.settings.low_disk_mb).is_low:
                return
        except OSError:
            return
        named = msgspec.structs.replace(general, sandbox_id=PREFIX + token_hex(NAME_BYTES))
        order = Order(named)
        box = self.births.expect(order, None)
        spare = Spare(shape, box)
        self._pool.append(spare)
        self.births.begin(
            box,
            order,
            lambda report, fds: self._heard(spare, report, fds),
            ended=lambda status: self._ended(spare, status),
            spare=True,
        )
        self._arm()

    def _heard(self, spare: Spare, report: Born | Laid | Stillborn, fds: list[int]) -> None:
        match report:
            case Born():
                box = spare.box
                self.births.stands(box, report, fds)
                if box.phase is Phase.BIRTH:
                    box.phase = Phase.ALIVE
                    self.births.loop.watch(box.inside[0], lambda: self._fell(spare))
                    self._refill()
            case Laid() | Stillborn():
                pass  # nobody waits for it; an ordinary birth will say what is wrong

    def _fell(self, spare: Spare) -> None:
        if spare in self._pool:
            self._pool.remove(spare)
            self._bury(spare)

    def _ended(self, spare: Spare, status: int) -> None:
        if spare.ended is not None:
            spare.ended(spare.box, status)
        elif spare in self._pool:
            self._pool.remove(spare)
            if not self.births.nursery.root:
                end_session(spare.box.pid)
            # One that cannot be built would not be the next time either.
            self._wanted.clear()
            self._bury(spare)

    def _bury(self, spare: Spare) -> None:
        spare.box.keep = False
        self._dying += 1
        begin_funeral(self.births.loop, self.births.nursery, spare.box, self._buried)

    def _buried(self, _report: Buried) -> None:
        self._dying -= 1
        self._tell_closed()

    def _arm(self) -> None:
        if not self._armed:
            self._armed = True
            self.births.loop.later(RETIRE_SECONDS, self._retire)

    def _retire(self) -> None:
        self._armed = False
        if time.monotonic() - self._last_start < RETIRE_SECONDS:
            self._arm()
        else:
            self._wanted.clear()
            self._bury_all()

    def _bury_all(self) -> None:
        for spare in self._pool:
            self._bury(spare)
        self._pool.clear()

    def close(self, closed: Callable[[], None]) -> None:
        """End all of them and build no more; `closed` is called once none is left."""
        self._closed = closed
        self._bury_all()
        self._tell_closed()

    def _tell_closed(self) -> None:
        if self._closed is not None and self._dying == 0:
            self._closed()
