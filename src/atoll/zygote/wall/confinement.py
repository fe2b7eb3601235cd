"""The confinement of a runtime once its sandbox is up: few files, and few system calls.

A runtime holds keys and parses input from its sandbox. An attacker who takes it over finds only its
own journal and the system's programs and settings. Nothing leads to another process or to a socket
of the machine's, and no program can be started. Processes of the sandbox are not its children, so
the confinement does not apply to them.
"""

import os
import ssl
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import Failed
from atoll.zygote.host import kernel
from atoll.zygote.wall import landlock
from atoll.zygote.wall.landlock import PORTS_SINCE, SCOPES_SINCE, FileRights, Ruleset
from atoll.zygote.wall.runtime_filter import ring_filter, runtime_filter, seccomp_number

MISSING = "landlock: this kernel has none, so only its uid keeps a runtime from the host's files"

_READ = FileRights.READ_FILE | FileRights.READ_DIR
_OWN = (
    _READ
    | FileRights.WRITE_FILE
    | FileRights.TRUNCATE
    | FileRights.MAKE_REG
    | FileRights.MAKE_DIR
    | FileRights.REMOVE_FILE
    | FileRights.REMOVE_DIR
)
_PLACES = (
    # Certificates, and libraries that name services load when they are first asked.
    ("/usr", _READ),
    ("/lib", _READ),
    ("/lib64", _READ),
    # By directory: a resolv.conf that is replaced is another file. Never listed.
    ("/etc", FileRights.READ_FILE),
    ("/dev/null", FileRights.READ_FILE | FileRights.WRITE_FILE),
    ("/dev/urandom", FileRights.READ_FILE),
    ("/proc/self", _READ),
)
_RESOLVER = Path("/etc/resolv.conf")
_THREADS = Path("/proc/self/task")
_ALONE = 3
"""Links of that directory where there is one thread: two, and one for each."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """Confinement for every runtime of this machine, made before the first one. `version` is
    Landlock's here, 0 for none; `places` are what every runtime may read, none of them above
    Atoll's home; `machine` is as `uname -m` names it."""

    version: int
    places: tuple[tuple[str, FileRights], ...]
    machine: str
    preparing: bytes
    serving: bytes

    @property
    def lacking(self) -> tuple[str, ...]:
        """Protections that this kernel lacks, in the words of `degraded`."""
        return () if self.version else (MISSING,)

    def prepare(self) -> None:
        """Forbid io_uring to this process, before it makes its event loop, and make later execs
        ignore set-uid bits and file capabilities. Raises `OSError`."""
        kernel.set_no_new_privileges()
        kernel.filter_calls(seccomp_number(self.machine), self.preparing)

    def enter(self, journal: Path) -> None:
        """Confine this process permanently; `journal` is the one directory it keeps. Call `prepare`
        before. Raises `Failed`, `OSError`."""
        if _THREADS.stat().st_nlink != _ALONE:
            raise Failed("a runtime had a second thread when it was to be confined")
        if self.version:
            rules = Ruleset(self.version)
            try:
                self._allow(rules, journal)
                rules.enforce()
            finally:
                rules.close()
        kernel.filter_calls(seccomp_number(self.machine), self.serving)

    def _allow(self, rules: Ruleset, journal: Path) -> None:
        for path, access in self.places:
            rules.allow(path, access)
        if not rules.allow(str(journal), _OWN):
            raise Failed(f"a runtime cannot reach its journal {journal}")


def plan_confinement(home: Path) -> Confinement:
    """Return the confinement for this machine. Raises `Failed` where there is no system call
    table."""
    machine, inner = os.uname().machine, home.resolve()
    found = (*_PLACES, *((path, _READ) for path in _more_places()))
    places = tuple(each for each in found if not inner.is_relative_to(each[0]))
    return Confinement(
        landlock.abi(), places, machine, ring_filter(machine), runtime_filter(machine)
    )


def _more_places() -> Iterator[str]:
    """Yield the paths of the resolver's files, certificates and modules that Python loads late."""
    trust = ssl.get_default_verify_paths()
    trusted = (trust.openssl_cafile, trust.openssl_capath)
    names = (sys.base_prefix, *sys.path, *map(str, trusted), str(_RESOLVER.resolve().parent))
    covered = [Path(path) for path, _access in _PLACES]
    for path in sorted({Path(name).resolve() for name in names if name}):
        if not any(path.is_relative_to(each) for each in covered):
            covered.append(path)
            yield str(path)


def describe_landlock(version: int) -> str:
    """Return in a few words what this kernel's Landlock restricts."""
    missing = [
        what
        for since, what in (
            (PORTS_SINCE, "ports to listen on"),
            (SCOPES_SINCE, "signals and abstract sockets"),
        )
        if version < since
    ]
    without = f", without rules for {' or '.join(missing)}" if missing else ""
    return f"Landlock (version {version}{without})"
