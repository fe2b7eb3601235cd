"""Machines of `ext.microvm` for tests: `atoll vm build` makes an image once for a checkout, and
each home of a test gets it by links."""

import asyncio
import fcntl
import hashlib
import os
import shutil
from pathlib import Path

from atoll.adapters.extensions.microvm import build, guest, packages
from atoll.adapters.extensions.microvm.backend import MicrovmBackend
from atoll.adapters.extensions.microvm.build import Builder
from atoll.adapters.extensions.microvm.entry import microvm_backend
from atoll.adapters.extensions.microvm.image import find_image, images
from atoll.adapters.extensions.microvm.qemu import find_qemu
from atoll.adapters.extensions.microvm.running import GuestMachine
from atoll.domain.errors import AtollError
from atoll.ports.extension import ExtensionSetup
from atoll.zygote.jobs.programs import find_bwrap
from tests.places import ROOT

CACHE = ROOT / ".venv" / "microvm"
SOURCES = (build, guest, packages)


def missing() -> str:
    """Return what is not here; empty where machines can be booted."""
    if os.geteuid() != 0:
        return "needs root"
    lacking = packages.missing_programs()
    try:
        find_qemu()
        find_bwrap()
    except AtollError as error:
        lacking.append(error.message)
    return f"no machines: {', '.join(lacking)}" if lacking else ""


def built() -> Path:
    """Return a home with an image of this code, made when there is none."""
    code = b"".join(Path(str(one.__file__)).read_bytes() for one in SOURCES)
    home = CACHE / hashlib.sha256(code).hexdigest()[:16]
    home.mkdir(mode=0o755, parents=True, exist_ok=True)
    with (home / "one-at-a-time").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        try:
            find_image(home)
        except AtollError:
            asyncio.run(Builder(home, find_bwrap(), print).build())
    return home


def home_with_image(home: Path) -> None:
    """Put the built image into another home."""
    there, here = images(built()), images(home)
    name = (there / "current").readlink()
    shutil.copytree(there / name, here / name, copy_function=_linked)
    (here / "current").symlink_to(name)


def machines(home: Path) -> MicrovmBackend:
    """Return the machines of a home."""
    return microvm_backend(ExtensionSetup(home, "atoll-test"))


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def qemu_of(home: Path, sandbox: str) -> int:
    """Return the process of a sandbox's machine, which holds all of the guest's memory."""
    around = set(GuestMachine(home / "vms" / sandbox)._processes())
    (found,) = [pid for pid in _pids() if _parent(pid) in around and pid not in around]
    return found


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
