"""The making of a guest's image from Debian's packages: kernel, initial RAM disk, root disk.

It runs as root, since debootstrap does. An image is kept by the names and versions of what it is
made of, and is in use only after a guest booted from it.
"""

import asyncio
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from atoll.adapters.extensions.microvm.cpio import FILE, Entry, pack
from atoll.adapters.extensions.microvm.disks import find_mke2fs, make_disk
from atoll.adapters.extensions.microvm.guest import FACTS, FIRST, PLACES
from atoll.adapters.extensions.microvm.image import Record, images, unusable_kvm
from atoll.adapters.extensions.microvm.qemu import Hardware, find_qemu, machine_argv
from atoll.adapters.extensions.microvm.running import Running
from atoll.adapters.linked.machine import packed_texts
from atoll.domain.errors import Failed
from atoll.domain.wall.interior import MASKED

KERNEL = "linux-image-cloud-amd64"
BUSYBOX = "busybox-static"
INCLUDED = ("ca-certificates", "curl", "git", "procps", "python3-minimal")
SUITE = "bookworm"
MODULES = (
    *("virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci"),
    *("virtio_blk", "virtio_console", "rng-core", "virtio-rng"),
)
"""The kernel's modules that a guest needs, in the order in which they depend on each other."""

ROOM_MB = 64
BUILD_SECONDS = 1800
KVM_SECONDS, EMULATED_SECONDS = 30.0, 180.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Builder:
    """The builder of one home. `bwrap` starts the trial, `say` hears each step."""

    home: Path
    bwrap: Path
    say: Say

    async def build(self) -> Record:
        """Make the image, or find the one of these packages. Raises `Failed` with a sentence."""
        _check_here()
        kernel = _depended(KERNEL)
        packages = tuple(sorted(map(_versioned, (kernel, BUSYBOX, *INCLUDED))))
        made_of = "\n".join((*packages, FIRST, SUITE))
        place = images(self.home) / hashlib.sha256(made_of.encode()).hexdigest()[:16]
        place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        if not (place / "root.img").exists():
            await self._make(place, kernel)
        else:
            self.say("the image of these packages is there already")
        record = await self._tried(place, packages)
        (place / "image.json").write_bytes(msgspec.json.encode(record))
        link = place.with_name("current.new")
        link.unlink(missing_ok=True)
        link.symlink_to(place.name)
        link.replace(place.with_name("current"))
        return record

    async def _make(self, place: Path, kernel: str) -> None:
        with tempfile.TemporaryDirectory(prefix="new-", dir=place.parent) as name:
            work = Path(name)
            image = work / "image"
            image.mkdir(mode=0o755)
            self.say(f"fetch {kernel} and {BUSYBOX}")
            for package in (kernel, BUSYBOX):
                await _ran(("apt-get", "download", package), work)
            for file in work.glob("*.deb"):
                await _ran(("dpkg-deb", "-x", file.name, "packages"), work)
            self.say("make the initial RAM disk")
            (found,) = (work / "packages" / "boot").glob("vmlinuz-*")
            shutil.copyfile(found, image / "kernel")
            (image / "initrd").write_bytes(_initrd(work / "packages"))
            self.say(f"make a root of Debian {SUITE} with {', '.join(INCLUDED)}")
            included = f"--include={','.join(INCLUDED)}"
            await _ran(("debootstrap", "--variant=minbase", included, SUITE, "root"), work)
            _trim(work / "root")
            size = int((await _ran(("du", "-sm", "root"), work)).split()[0])
            await make_disk(image / "root.img", int(size * 1.15) + ROOM_MB, work / "root")
            image.rename(place)

    async def _tried(self, place: Path, packages: Sequence[str]) -> Record:
        no_kvm = unusable_kvm()
        if not no_kvm:
            self.say("try a guest with KVM")
            try:
                return Record(await self._trial(place, kvm=True), "", tuple(packages))
            except Failed as error:
                no_kvm = f"a guest does not boot with it: {error.message}"[:300]
        self.say(f"no KVM, since {no_kvm}: try a guest with an emulated processor")
        return Record(await self._trial(place, kvm=False), no_kvm, tuple(packages))

    async def _trial(self, place: Path, *, kvm: bool) -> str:
        with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as name:
            folder = Path(name)
            await make_disk(folder / "disk", 16)
            texts = {"second": FACTS, "masked": "\n".join(MASKED) + "\n"}
            (folder / "start.tar").write_bytes(packed_texts(texts))
            argv = machine_argv(self.bwrap, folder, place, Hardware(kvm, 512, 1))
            running = Running(folder)
            said = await running.start(
                argv, generation=1, seconds=KVM_SECONDS if kvm else EMULATED_SECONDS
            )
            await running.kill()
            return said.replace("\r", "")


def _check_here() -> None:
    """Raise `Failed` with what this machine lacks."""
    if platform.machine() != "x86_64":
        raise Failed(f"ext.microvm makes guests of x86_64 only: this machine is {os.uname()[4]}")
    if os.geteuid() != 0:
        raise Failed("debootstrap makes a root only as root: run `atoll vm build` as root")
    find_qemu()
    find_mke2fs()
    missing = [name for name in ("debootstrap", "apt-get", "dpkg-deb") if not shutil.which(name)]
    if missing:
        raise Failed(f"{', '.join(missing)} is missing: apt-get install debootstrap, on a Debian")


def _depended(package: str) -> str:
    """Return the package of a kernel that the one without a version stands for."""
    for line in _asked("apt-cache", "depends", package).splitlines():
        word, _, name = line.strip().partition(": ")
        if word == "Depends" and name.startswith("linux-image-"):
            return name
    raise Failed(f"apt knows no {package}: run apt-get update, on a Debian")


def _versioned(package: str) -> str:
    for line in _asked("apt-cache", "policy", package).splitlines():
        word, _, version = line.strip().partition(": ")
        if word == "Candidate" and version != "(none)":
            return f"{package}={version}"
    raise Failed(f"apt has no version of {package}: run apt-get update")


def _asked(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout


async def _ran(command: Sequence[str], folder: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(BUILD_SECONDS):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    said = output.decode(errors="replace")
    if process.returncode:
        raise Failed(f"{command[0]} failed: {said.strip()[-500:]}")
    return said


def _initrd(packages: Path) -> bytes:
    entries = [Entry("bin"), Entry("modules"), Entry("init", FILE, FIRST.encode())]
    entries.append(Entry("bin/busybox", FILE, (packages / "bin" / "busybox").read_bytes()))
    for number, name in enumerate(MODULES):
        for found in (packages / "lib" / "modules").rglob(f"{name}.ko"):
            entries.append(Entry(f"modules/{number:02}-{name}.ko", FILE, found.read_bytes()))
    return pack(entries)


def _trim(root: Path) -> None:
    """Remove what no sandbox reads, and make the places that its first script needs."""
    for name in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man"):
        shutil.rmtree(root / name, ignore_errors=True)
    for name in PLACES:
        (root / name).mkdir(exist_ok=True)
