"""The making of a guest's image from Debian's packages: kernel, initial RAM disk, root disk.

An image is kept by the names and versions of what it is made of, and is in use only after a guest
booted from it. The one before is removed then; machines keep what they have open.
"""

import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from atoll.adapters.extensions.microvm.cpio import FILE, Entry, pack
from atoll.adapters.extensions.microvm.disks import find_mke2fs, make_disk
from atoll.adapters.extensions.microvm.guest import FACTS, FIRST, PLACES
from atoll.adapters.extensions.microvm.image import TrialRecord, images, unusable_kvm
from atoll.adapters.extensions.microvm.packages import (
    Apt,
    PackageChoice,
    missing_programs,
    run_command,
)
from atoll.adapters.extensions.microvm.qemu import Hardware, find_qemu, machine_argv
from atoll.adapters.extensions.microvm.running import GuestMachine
from atoll.adapters.linked.machine import pack_texts
from atoll.adapters.turns import lock_in_turn
from atoll.domain.errors import Failed
from atoll.domain.wall.interior import MASKED

INCLUDED = (
    *("ca-certificates", "curl", "file", "git", "jq", "less", "make", "patch", "procps"),
    *("python3", "ripgrep", "unzip", "xz-utils"),
)
"""The packages of every root, beside those that Debian calls essential."""

MODULES = (
    *("virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci"),
    *("virtio_blk", "virtio_console", "rng-core", "virtio-rng", "overlay"),
)
"""The kernel's modules that a guest needs, in the order in which they depend on each other."""

FINISH = r"""
set -e
cp /usr/share/base-passwd/passwd.master /etc/passwd
cp /usr/share/base-passwd/group.master /etc/group
ldconfig
authorities=/usr/share/ca-certificates
find $authorities -name '*.crt' -printf '%P\n' | sort >/etc/ca-certificates.conf
update-ca-certificates >/dev/null 2>&1
for pair in awk:mawk which:which.debianutils pager:less; do
  [ -e "/usr/bin/${pair#*:}" ] && ln -sf "${pair#*:}" "/usr/bin/${pair%%:*}"
done
python3 -m compileall -q -j 0 /usr/lib/python3*/ >/dev/null || true
"""
"""The parts of packages' own scripts that a sandbox needs, run in the new root."""

NEW = "new-"
ROOM_MB = 64
KVM_SECONDS, EMULATED_SECONDS = 20.0, 180.0

ReportStep = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Builder:
    """The builder of one home. `bwrap` starts the trial, `report` receives a line for each step.
    `packages` are wanted beside `INCLUDED`."""

    home: Path
    bwrap: Path
    report: ReportStep
    packages: tuple[str, ...] = ()

    async def build(self) -> TrialRecord:
        """Make the image, or find the one of these packages. Raises `Failed` with a sentence."""
        _check_here()
        folder = images(self.home)
        with _lock_images(folder):
            with tempfile.TemporaryDirectory(prefix=NEW, dir=folder) as name:
                apt = Apt(Path(name))
                chosen = await apt.choose((*INCLUDED, *self.packages))
                made_of = "\n".join((*chosen.archives, FIRST, FINISH, *MODULES))
                place = folder / hashlib.sha256(made_of.encode()).hexdigest()[:16]
                if (place / "root.img").exists():
                    self.report("the image of these packages is there already")
                else:
                    await self._make(place, apt, chosen)
            record = await self._try(place, chosen.archives)
            (place / "image.json").write_bytes(msgspec.json.encode(record))
            _put_in_use(place)
        return record

    async def _make(self, place: Path, apt: Apt, chosen: PackageChoice) -> None:
        image = apt.folder / "image"
        image.mkdir(mode=0o755)
        self.report(f"fetch the kernel, {chosen.kernel}")
        tree = await apt.boot(chosen)
        (kernels,) = (tree / "boot").glob("vmlinuz-*")
        shutil.copyfile(kernels, image / "kernel")
        (image / "initrd").write_bytes(_initrd(tree))
        self.report(f"fetch the root's {len(chosen.archives) - 2} packages")
        root = await apt.root(chosen)
        self.report("make the root disk")
        for name in PLACES:
            (root / name).mkdir(exist_ok=True)
        await run_command((*self._in_new_root(root), "sh", "-c", FINISH), apt.folder)
        size = int((await run_command(("du", "-sm", str(root)), apt.folder)).split()[0])
        await make_disk(image / "root.img", int(size * 1.15) + ROOM_MB, root, self._as_owner())
        (image / "root.img").chmod(0o644)
        image.rename(place)

    def _as_owner(self) -> tuple[str, ...]:
        """Return a beginning of a command for which the caller's files are root's."""
        if os.geteuid() == 0:
            return ()
        user = ("--unshare-user", "--uid", "0", "--gid", "0")
        return (str(self.bwrap), *user, "--bind", "/", "/")

    def _in_new_root(self, root: Path) -> tuple[str, ...]:
        user = ("--unshare-all", "--unshare-user", "--uid", "0", "--gid", "0", "--clearenv")
        places = ("--bind", str(root), "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/run")
        path = ("--setenv", "PATH", "/usr/sbin:/usr/bin", "--setenv", "LC_ALL", "C")
        return (str(self.bwrap), *user, *places, *path, "--chdir", "/", "--")

    async def _try(self, place: Path, packages: Sequence[str]) -> TrialRecord:
        no_kvm = unusable_kvm()
        if not no_kvm:
            self.report("try a guest with KVM")
            try:
                return TrialRecord(await self._trial(place, kvm=True), "", tuple(packages))
            except Failed as error:
                no_kvm = f"a guest does not boot with it: {error.message}"[:300]
        self.report(f"no KVM, since {no_kvm}: try a guest with an emulated processor")
        return TrialRecord(await self._trial(place, kvm=False), no_kvm, tuple(packages))

    async def _trial(self, place: Path, *, kvm: bool) -> str:
        with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as name:
            folder = Path(name)
            await make_disk(folder / "disk", 16)
            texts = {"second": FACTS, "masked": "\n".join(MASKED) + "\n"}
            (folder / "start.tar").write_bytes(pack_texts(texts))
            argv = machine_argv(self.bwrap, folder, place, Hardware(kvm, 512, 1))
            machine = GuestMachine(folder)
            console = await machine.start(
                argv, generation=1, seconds=KVM_SECONDS if kvm else EMULATED_SECONDS
            )
            await machine.kill()
            return console.replace("\r", "")


def _check_here() -> None:
    """Raise `Failed` with what this machine lacks."""
    if platform.machine() != "x86_64":
        raise Failed(f"ext.microvm makes guests of x86_64 only: this machine is {os.uname()[4]}")
    find_qemu()
    find_mke2fs()
    missing = missing_programs()
    if missing:
        raise Failed(f"{', '.join(missing)} is missing: build the image on a Debian")


@contextmanager
def _lock_images(folder: Path) -> Iterator[None]:
    """Hold the folder of images for one build, after another. Raises `Failed` after a long wait,
    and with what cannot be written."""
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            try:
                lock_in_turn(lock.fileno())
            except BlockingIOError as error:
                raise Failed(f"another build makes an image in {folder}: wait for it") from error
            for unfinished in folder.glob(f"{NEW}*"):
                shutil.rmtree(unfinished, ignore_errors=True)
            yield
    except OSError as error:
        raise Failed(f"no image can be made in {folder}: {error.strerror or error}") from error


def _put_in_use(place: Path) -> None:
    link = place.with_name("current.new")
    link.unlink(missing_ok=True)
    link.symlink_to(place.name)
    link.replace(place.with_name("current"))
    for other in place.parent.iterdir():
        if other.is_dir() and not other.is_symlink() and other != place:
            shutil.rmtree(other, ignore_errors=True)


def _initrd(packages: Path) -> bytes:
    entries = [Entry("bin"), Entry("modules"), Entry("init", FILE, FIRST.encode())]
    entries.append(Entry("bin/busybox", FILE, (packages / "bin" / "busybox").read_bytes()))
    for number, name in enumerate(MODULES):
        for module in (packages / "lib" / "modules").rglob(f"{name}.ko"):
            entries.append(Entry(f"modules/{number:02}-{name}.ko", FILE, module.read_bytes()))
    return pack(entries)
