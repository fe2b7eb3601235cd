"""Subordinate uids: uids and gids of the host that an ordinary user may use for others (subuid(5)).

The zygote makes one user namespace when it starts. It maps the user to its root and the range to
its other users. Each sandbox gets one of these, and so pools of its own where the kernel counts for
each uid of the machine. Where the kernel counts for each user namespace (inotify, pending signals,
processes), it counts for the owner of the outermost one, too: the user. A second namespace around
the first limits what all sandboxes together take of that.
"""

import os
import pwd
import shutil
import subprocess
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from atoll.domain.errors import AtollError, Failed
from atoll.zygote.disk.storage import enter_private_mounts
from atoll.zygote.host import kernel
from atoll.zygote.host.user_namespaces import held_namespace, write_maps
from atoll.zygote.records.uids import Counter
from atoll.zygote.wall.covers import closed_to_others, find_covers, mount_cover

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
PROGRAMS = ("newuidmap", "newgidmap")
TIMEOUT_SECONDS = 10
SKIPPED_UIDS = 10_000
"""Other programs (podman, say) give the first uids of a large range to users of their images."""

ALL_SANDBOXES_SHARE = 2
"""All sandboxes together get the machine's bound of watchers for a uid, divided by this."""

_WATCHERS = ("inotify_instances", "inotify_watches")
_MAX_WORDS = 2000


@dataclass(frozen=True, slots=True)
class IdRange:
    """Range of consecutive ids."""

    first: int
    count: int


@dataclass(frozen=True, slots=True)
class MissingSubordinates:
    """Reason why there are no subordinate uids here, and the command that provides them."""

    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Subordinates:
    """Subordinate uids: a descriptor of the namespace, and the uids that are its users from 1
    on."""

    namespace: int
    uids: IdRange
    counter: Counter

    def take(self) -> int:
        """Return a uid of the host that no sandbox ever had. Raises `LimitReached`, `Failed`."""
        return self.uids.first + self.counter.take(1) - 1

    def inside(self, uid: int) -> int:
        """Return the number of a uid of the host in the namespace. Raises `Failed`."""
        number = uid - self.uids.first + 1
        if not 1 <= number <= self.uids.count:
            raise Failed(
                f"the files of this sandbox belong to uid {uid}, which is not in your range "
                f"({self.uids.first}, {self.uids.count} uids): put it back into /etc/subuid"
            )
        return number

    def enter(self) -> None:
        """Become root of the namespace, permanently. Call it in a process without threads."""
        kernel.setns(self.namespace, kernel.CLONE_NEWUSER)

    def act(self, work: Callable[[], None]) -> None:
        """Run `work` as root of the namespace, in a child. Raises `Failed` with its error."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._act(work, write)
        os.close(write)
        with os.fdopen(read, "rb") as said:
            words = said.read().decode(errors="replace")
        os.waitpid(pid, 0)
        if words != "done":
            raise Failed(words or "a process with subordinate uids broke off")

    def _act(self, work: Callable[[], None], write: int) -> NoReturn:
        words = ""
        try:
            self.enter()
            work()
            words = "done"
        except (OSError, AtollError) as err:
            words = str(err)[:_MAX_WORDS]
        finally:
            os.write(write, words.encode())
            os._exit(0)


@dataclass(frozen=True, slots=True)
class UidSwitch:
    """Switch of one process to a subordinate uid, in two steps. First it becomes root of the
    namespace and opens the caller's files. Then it drops to the uid, which can reach the `needed`
    paths below directories closed to it."""

    subordinates: Subordinates
    uid: int
    needed: Callable[[], Iterable[Path]]

    def enter_namespace(self) -> None:
        """Become root of the namespace, with private mounts. Raises `OSError`."""
        self.subordinates.enter()
        enter_private_mounts()

    def drop(self) -> None:
        """Make the needed paths reachable and drop to the uid, permanently. Raises `Failed`,
        `OSError`."""
        number = self.subordinates.inside(self.uid)
        for cover in find_covers(self.needed(), closed_to_others):
            mount_cover(cover)
        kernel.drop_to(number)


def open_subordinates(boxes: Path) -> Subordinates | MissingSubordinates:
    """Make the namespace for the user of this process, whose home keeps sandboxes in `boxes`; or
    return what is missing. Only an attempt shows that: the programs need their set-uid bit, the
    user a line in two files, and the kernel must allow it."""
    uid = os.geteuid()
    try:
        person = pwd.getpwuid(uid)
    except KeyError:
        return MissingSubordinates(f"uid {uid} has no name", "Run Atoll as a user of /etc/passwd.")
    missing = [each for each in PROGRAMS if shutil.which(each, path=SYSTEM_PATH) is None]
    if missing:
        return MissingSubordinates(
            f"{' and '.join(missing)} missing", "As root: `apt-get install uidmap`."
        )
    spans = [_span(Path(file), person) for file in ("/etc/subuid", "/etc/subgid")]
    uids, gids = spans
    if uids is None or gids is None:
        return MissingSubordinates(
            f"{person.pw_name} has no range of subordinate ids", _usermod(person)
        )
    count = min(uids.count, gids.count)
    try:
        namespace = _namespace(IdRange(uids.first, count), IdRange(gids.first, count))
    except (OSError, AtollError, subprocess.TimeoutExpired) as err:
        return MissingSubordinates(f"the namespace cannot be made: {err}", "See newuidmap(1).")
    first = 1 + (SKIPPED_UIDS if count >= 2 * SKIPPED_UIDS else 0)
    known = Path(person.pw_dir) / ".local" / "state" / "atoll" / "next-subordinate-uid"
    counter = Counter(boxes / "next-subordinate", known, first=first, last=count + 1)
    return Subordinates(namespace, IdRange(uids.first, count), counter)


def _span(file: Path, person: pwd.struct_passwd) -> IdRange | None:
    """Return the largest range of a user in /etc/subuid or /etc/subgid."""
    found: list[IdRange] = []
    with suppress(OSError):
        for line in file.read_text(errors="replace").splitlines():
            name, *numbers = line.split(":")
            whole = len(numbers) == 2 and all(each.isdecimal() for each in numbers)
            if whole and name in {person.pw_name, str(person.pw_uid)}:
                found.append(IdRange(int(numbers[0]), int(numbers[1])))
    return max((each for each in found if each.count), key=lambda each: each.count, default=None)


def _usermod(person: pwd.struct_passwd) -> str:
    taken = [100_000]
    for file in ("/etc/subuid", "/etc/subgid"):
        with suppress(OSError):
            for line in Path(file).read_text(errors="replace").splitlines():
                _name, *numbers = line.split(":")
                if len(numbers) == 2 and all(each.isdecimal() for each in numbers):
                    taken.append(sum(map(int, numbers)))
    ids = f"{max(taken)}-{max(taken) + 65535}"
    return f"As root: `usermod --add-subuids {ids} --add-subgids {ids} {person.pw_name}`."


def _namespace(uids: IdRange, gids: IdRange) -> int:
    """Return the inner of two namespaces, both with the same maps."""
    outer = held_namespace(lambda pid: _map_by_programs(pid, uids, gids))
    try:
        _bound_watchers(outer)
        return held_namespace(lambda pid: _map_all(outer, pid, uids.count), within=outer)
    finally:
        os.close(outer)


def _map_by_programs(pid: int, uids: IdRange, gids: IdRange) -> None:
    """Map the ids by newuidmap and newgidmap, which alone may map more than one id for an ordinary
    user."""
    own = (os.geteuid(), os.getegid())
    for program, mine, span in zip(PROGRAMS, own, (uids, gids), strict=True):
        words = (pid, 0, mine, 1, 1, span.first, span.count)
        done = subprocess.run(
            [program, *map(str, words)],
            env={"PATH": SYSTEM_PATH},
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise Failed(done.stderr.decode(errors="replace").strip()[:_MAX_WORDS] or program)


def _map_all(outer: int, pid: int, count: int) -> None:
    def write() -> None:
        kernel.setns(outer, kernel.CLONE_NEWUSER)
        # A line of a map lies within one of the map around it.
        write_maps(pid, f"0 0 1\n1 1 {count}\n")

    _in_child("the inner namespace", write)


def _bound_watchers(outer: int) -> None:
    def write_bounds() -> None:
        kernel.setns(outer, kernel.CLONE_NEWUSER)
        for name in _WATCHERS:
            most = int(Path(f"/proc/sys/fs/inotify/max_user_{name[8:]}").read_text())
            Path(f"/proc/sys/user/max_{name}").write_text(str(max(1, most // ALL_SANDBOXES_SHARE)))

    _in_child("the bound of inotify", write_bounds)


def _in_child(what: str, act: Callable[[], None]) -> None:
    code = kernel.errno_in_child(act)
    if code:
        raise OSError(code, f"{what}: {os.strerror(code)}")
