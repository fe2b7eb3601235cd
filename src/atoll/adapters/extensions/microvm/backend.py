"""`ext.microvm` as a FarBackend: a QEMU machine for each sandbox, its link on a virtio-serial port.

The wall stands in the guest as it stands on any other machine. Around it there is no network device
to reach anything by, and nothing of this machine but the disks that were made for it.
"""

import asyncio
import json
import shutil
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from atoll.adapters.extensions.microvm.disks import Disks, find_mke2fs, make_disk
from atoll.adapters.extensions.microvm.guest import LETTERS, VIEWS
from atoll.adapters.extensions.microvm.guest_shell import GuestShell
from atoll.adapters.extensions.microvm.image import GuestImage, find_image
from atoll.adapters.extensions.microvm.programs import GuestPrograms
from atoll.adapters.extensions.microvm.pump import join_sockets
from atoll.adapters.extensions.microvm.qemu import Hardware, find_qemu, machine_argv
from atoll.adapters.extensions.microvm.running import GuestMachine
from atoll.adapters.extensions.microvm.start_archive import live_letters, start_archive
from atoll.adapters.linked.machine import mirror_to
from atoll.domain.errors import Failed, Invalid
from atoll.domain.ids import SandboxId
from atoll.domain.interior.remote import INIT
from atoll.domain.profile.demands import PIDS
from atoll.domain.profile.profile import Profile
from atoll.domain.routes.candidate import ImageKind
from atoll.domain.sandboxes.image import HOST
from atoll.domain.wall.isolation import Isolation
from atoll.domain.wall.resources import Resources
from atoll.ports.extension import Capabilities, CleanupReport, Mount, Provision
from atoll.ports.far import FarBox, FarPlace, LinkTerms, MachineLost
from atoll.wire.words.walls import IsolationLevel

NAME = "ext.microvm"
MECHANISM = "QEMU and bubblewrap"
MEMORY_MB, LEAST_MEMORY_MB, CPUS, DISK_MB = 2048, 256, 2, 10 * 1024
LIVE = "live"
"""The file with the sources of live mounts, by the letters of their disks."""

IGNORED = ((PIDS, "the kernel of its machine bounds them, by its memory"),)

KVM_SECONDS, EMULATED_SECONDS = 30.0, 120.0


@dataclass(slots=True)
class MicrovmBackend:
    """`ports.FarBackend` of machines on this one. `home` has the image, the disks and a folder for
    each sandbox."""

    home: Path
    programs: GuestPrograms
    disks: Disks
    group: int | None = None
    _boots: dict[SandboxId, asyncio.Task[FarPlace]] = field(default_factory=dict)
    _untouched: set[SandboxId] = field(default_factory=set)
    _shells: dict[SandboxId, GuestShell] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`ext.microvm`."""
        return NAME

    def capabilities(self) -> Capabilities:
        """Return the capabilities of these machines. Raises `Failed` without QEMU or an image."""
        find_qemu()
        find_mke2fs()
        find_image(self.home)
        return Capabilities(
            isolation=IsolationLevel.MICROVM,
            images=frozenset({ImageKind.HOST}),
            ignores=IGNORED,
        )

    def lacks(self, profile: Profile) -> Sequence[str]:
        """Return the limits that no machine can have; a start rounds limits that nobody named."""
        limits = profile.resources
        lacking = []
        if limits.memory_mb is not None and limits.memory_mb < LEAST_MEMORY_MB:
            lacking.append(
                f"its machines have at least {LEAST_MEMORY_MB} MiB of memory, and resources."
                f"memory_mb is {limits.memory_mb}"
            )
        if limits.cpu is not None and not float(limits.cpu).is_integer():
            lacking.append(
                f"its machines have whole processors, and resources.cpu is {limits.cpu:g}"
            )
        return lacking

    async def provision(self, request: Provision, terms: LinkTerms) -> FarPlace:
        """Boot the sandbox's machine. Raises `Invalid` for an image, `Failed` with what the guest
        said, and when it was torn down meanwhile."""
        if request.profile.image != HOST:
            raise Invalid(
                f"{NAME} boots the image of `atoll vm build`: image {request.profile.image!r} "
                "cannot be used there",
                field="image",
            )
        request = replace(request, mounts=_choose_mounts(request.mounts))
        if len(request.mounts) > len(LETTERS):
            raise Invalid(f"{NAME} shows at most {len(LETTERS)} folders", field="mounts")
        await self._cancel_boot(request.sandbox_id)
        # Owned here: it ends before this returns, and a teardown may cancel it.
        boot = asyncio.get_running_loop().create_task(self._boot(request, terms))
        self._boots[request.sandbox_id] = boot
        try:
            await asyncio.wait((boot,))
        finally:
            boot.cancel()
            await asyncio.wait((boot,))
            if self._boots.get(request.sandbox_id) is boot:
                del self._boots[request.sandbox_id]
        if boot.cancelled():
            raise Failed(f"sandbox {request.sandbox_id} was torn down while its machine booted")
        return boot.result()

    async def _boot(self, request: Provision, terms: LinkTerms) -> FarPlace:
        image = find_image(self.home)
        machine = self._machine(request.sandbox_id)
        await machine.stop()
        await self._prepare_disk(request, machine.folder)
        programs = await asyncio.to_thread(self.programs.place)
        views = await self._views(request)
        archive = start_archive(request, terms, image.machine, tuple(views), programs)
        start_file = machine.folder / "start.tar"
        start_file.touch(mode=0o600)
        start_file.write_bytes(archive)
        (machine.folder / LIVE).write_text(json.dumps(live_letters(request)))
        hardware = _hardware(request, image, tuple(views.values()))
        argv = machine_argv(programs / "bwrap", machine.folder, image.folder, hardware)
        seconds = KVM_SECONDS if hardware.kvm else EMULATED_SECONDS
        request.report("boot a machine" if hardware.kvm else "boot a machine, emulated: slow")
        environment = {"LD_LIBRARY_PATH": str(programs)}
        try:
            await machine.start(
                argv, generation=request.generation, seconds=seconds, env=environment
            )
        finally:
            # It holds the link's key, and is of no use once the guest has read it.
            start_file.write_bytes(b"")
        self._untouched.add(request.sandbox_id)
        return _place(request, image)

    async def attach(self, request: Provision) -> FarPlace | None:
        """Return the machine that runs; None when none does."""
        if not self._machine(request.sandbox_id).runs(request.generation):
            return None
        return _place(request, find_image(self.home))

    async def carry(self, box: FarBox, near: socket.socket) -> None:
        """Carry bytes between the near end and the machine's port. Raises `MachineLost` once it
        ended."""
        machine = self._machine(box.sandbox_id)
        if not machine.runs(box.generation):
            raise MachineLost("its machine ended")
        used = box.sandbox_id not in self._untouched
        self._untouched.discard(box.sandbox_id)
        await join_sockets(near, machine.link, used=used)

    async def refresh(self, boxes: Sequence[FarBox], source: str) -> None:
        """Bring new objects to the guests of these sandboxes, above their read-only disks. Raises
        the error of the first guest that did not take them, after the others did."""
        results = await asyncio.gather(
            *(self._refresh(box.sandbox_id, source) for box in boxes), return_exceptions=True
        )
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _refresh(self, sandbox_id: SandboxId, source: str) -> None:
        machine = self._machine(sandbox_id)
        live = machine.folder / LIVE
        if not machine.runs() or not live.exists():
            return
        shell = self._shells.setdefault(
            sandbox_id, GuestShell(machine.files, f"the machine of sandbox {sandbox_id}")
        )
        for letter, mounted in json.loads(live.read_text()).items():
            if mounted == source:
                await mirror_to(shell, f"{VIEWS}/{letter}", Path(source))

    async def teardown(self, box: FarBox, *, keep_state: bool) -> CleanupReport:
        """End the machine, also one that boots; without `keep_state` remove its disk."""
        await self._cancel_boot(box.sandbox_id)
        self._shells.pop(box.sandbox_id, None)
        machine = self._machine(box.sandbox_id)
        if keep_state:
            ran = await machine.stop()
            return CleanupReport(("the machine",) if ran else ())
        ran = machine.runs()
        await machine.kill()
        removed = ["the machine"] if ran else []
        if await asyncio.to_thread(_remove, machine.folder):
            removed.append("workspace and agent state")
        return CleanupReport(tuple(removed))

    async def _cancel_boot(self, sandbox_id: SandboxId) -> None:
        boot = self._boots.get(sandbox_id)
        if boot is not None:
            boot.cancel()
            await asyncio.wait((boot,))

    async def close(self) -> None:
        """Close nothing: machines outlive this process."""

    def _machine(self, sandbox_id: SandboxId) -> GuestMachine:
        return GuestMachine(self.home / "vms" / sandbox_id, self.group)

    async def _prepare_disk(self, request: Provision, folder: Path) -> None:
        disk = folder / "disk"
        if not await asyncio.to_thread(_prepare_place, disk, fresh=request.fresh):
            await make_disk(disk, request.profile.resources.workspace_mb or DISK_MB)

    async def _views(self, request: Provision) -> dict[tuple[str, str], Path]:
        """Return the disks of read-only folders, by their places in the guest and inside."""
        await asyncio.to_thread(self.disks.forget_unused)
        disks = {}
        for letter, mount in zip(LETTERS, request.mounts, strict=False):
            disk = await self.disks.of(Path(mount.source))
            disks[f"{VIEWS}/{letter}", mount.target] = disk
        return disks


def _choose_mounts(mounts: tuple[Mount, ...]) -> tuple[Mount, ...]:
    """Return as many mounts as a machine has disks for, spare ones last."""
    needed = [mount for mount in mounts if not mount.spare]
    room = max(0, len(LETTERS) - len(needed))
    return (*needed, *[mount for mount in mounts if mount.spare][:room])


def _prepare_place(disk: Path, *, fresh: bool) -> bool:
    """Make a disk's folder; returns whether the disk is there, which `fresh` removes."""
    disk.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if fresh:
        disk.unlink(missing_ok=True)
    return disk.exists()


def _remove(folder: Path) -> bool:
    """Remove a folder; returns whether it was there."""
    if not folder.exists():
        return False
    shutil.rmtree(folder)
    return True


def _hardware(request: Provision, image: GuestImage, disks: tuple[Path, ...]) -> Hardware:
    resources: Resources = request.profile.resources
    memory = max(resources.memory_mb or MEMORY_MB, LEAST_MEMORY_MB)
    cpus = max(1, int(resources.cpu or CPUS))
    return Hardware(not image.no_kvm(), memory, cpus, disks)


def _place(request: Provision, image: GuestImage) -> FarPlace:
    box = FarBox(request.sandbox_id, request.generation, (("machine", request.sandbox_id),))
    no_kvm = image.no_kvm()
    slow = (f"speed: its processor is emulated, since {no_kvm}",) if no_kvm else ()
    degraded = (*slow, *_rounding_notes(request.profile.resources, _hardware(request, image, ())))
    return FarPlace(box, Isolation(IsolationLevel.MICROVM, MECHANISM, degraded), (INIT,))


def _rounding_notes(limits: Resources, hardware: Hardware) -> Iterator[str]:
    """Yield a note for each limit that the hardware rounds: a quota may set one, and
    earlier versions admitted them."""
    if limits.cpu is not None and hardware.cpus != limits.cpu:
        cpus = hardware.cpus
        yield f"size: its machine has {cpus} processors, and resources.cpu is {limits.cpu:g}"
    if limits.memory_mb is not None and hardware.memory_mb != limits.memory_mb:
        yield (
            f"size: its machine has {hardware.memory_mb} MiB of memory, and resources.memory_mb is "
            f"{limits.memory_mb}"
        )
