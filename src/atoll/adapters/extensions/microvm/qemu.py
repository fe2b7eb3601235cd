"""The command of one machine: QEMU, without a network or a monitor, behind a wall of its own.

bubblewrap shows QEMU the programs of this machine and the disks of one sandbox. So whoever breaks
out of the guest finds no home, no process and no network.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import Failed

PROGRAM = "qemu-system-x86_64"
MISSING = "ext.microvm needs QEMU: apt-get install --no-install-recommends qemu-system-x86"
INSIDE = "/machine"
"""The place of a machine's own folder, as QEMU sees it."""

SANDBOX = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"
KERNEL_WORDS = "console=ttyS0 quiet loglevel=1 panic=-1 random.trust_cpu=on no_timer_check"


@dataclass(frozen=True, slots=True)
class Hardware:
    """The hardware of a machine. `kvm`: its processor is this machine's own, else it is emulated.
    `disks` are read-only, in their order after the sandbox's own."""

    kvm: bool
    memory_mb: int
    cpus: int
    disks: tuple[Path, ...] = ()


def find_qemu() -> Path:
    """Return QEMU's program. Raises `Failed` with how to install it."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise Failed(MISSING)
    return Path(program)


def machine_argv(bwrap: Path, folder: Path, image: Path, hardware: Hardware) -> list[str]:
    """Return the command that starts a machine of `folder` from `image`; `with_console` adds the
    descriptor of its console."""
    shown = [("--ro-bind", str(disk), f"/disks/{n}") for n, disk in enumerate(hardware.disks)]
    return [
        *(str(bwrap), "--unshare-all", "--unshare-user", "--cap-drop", "ALL", "--clearenv"),
        *("--uid", "65534", "--gid", "65534"),
        *("--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib"),
        *("--symlink", "usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin"),
        *("--proc", "/proc", "--dev", "/dev"),
        *(("--dev-bind", "/dev/kvm", "/dev/kvm") if hardware.kvm else ()),
        *("--ro-bind", str(image), "/image", *shown_folder(folder)),
        *(word for view in shown for word in view),
        *("--chdir", "/", "--", str(find_qemu())),
        *_machine(hardware),
        *_drive_arguments(hardware),
        *_ports(),
    ]


def shown_folder(folder: Path) -> tuple[str, ...]:
    """Return the words of a machine's command that name its folder: no other command has them."""
    return ("--bind", str(folder), INSIDE)


def with_console(argv: Sequence[str], descriptor: int) -> tuple[str, ...]:
    """Return a machine's command whose console is this socket."""
    return (*argv, "-chardev", f"socket,id=console,fd={descriptor}", "-serial", "chardev:console")


def _machine(hardware: Hardware) -> tuple[str, ...]:
    processor = (
        ("kvm", "host,arch-capabilities=off") if hardware.kvm else ("tcg,thread=multi", "max")
    )
    return (
        *("-machine", "pc,usb=off,vmport=off,hpet=off", "-accel", processor[0]),
        *("-cpu", processor[1], "-m", str(hardware.memory_mb), "-smp", str(hardware.cpus)),
        *("-nodefaults", "-no-user-config", "-nographic", "-no-reboot", "-nic", "none"),
        *("-monitor", "none", "-sandbox", SANDBOX),
        *("-kernel", "/image/kernel", "-initrd", "/image/initrd", "-append", KERNEL_WORDS),
    )


def _drive_arguments(hardware: Hardware) -> tuple[str, ...]:
    drives = [("/image/root.img", True), (f"{INSIDE}/start.tar", True), (f"{INSIDE}/disk", False)]
    drives += [(f"/disks/{n}", True) for n in range(len(hardware.disks))]
    words: list[str] = []
    for number, (file, is_read_only) in enumerate(drives):
        only = "on" if is_read_only else "off"
        words += ["-drive", f"if=none,id=d{number},format=raw,file={file},read-only={only}"]
        words += ["-device", f"virtio-blk-pci,drive=d{number}"]
    return tuple(words)


def _ports() -> tuple[str, ...]:
    listening = f"socket,server=on,wait=off,path={INSIDE}"
    return (
        *("-device", "virtio-serial-pci", "-chardev", f"{listening}/link.sock,id=link"),
        *("-device", "virtserialport,chardev=link,nr=1,name=atoll.link"),
        *("-chardev", f"{listening}/stop.sock,id=stop"),
        *("-device", "virtserialport,chardev=stop,nr=2,name=atoll.stop"),
        *("-chardev", f"{listening}/files.sock,id=files"),
        *("-device", "virtserialport,chardev=files,nr=3,name=atoll.files"),
        *("-object", "rng-random,id=rng,filename=/dev/urandom"),
        *("-device", "virtio-rng-pci,rng=rng"),
    )
