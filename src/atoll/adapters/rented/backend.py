"""A FarBackend of rented machines: one for each sandbox that runs, none for one that is stopped.

The wall stands on the rented machine as it stands on any other. The files of a stopped sandbox are
an archive here, so that nothing has to stay rented for them.
"""

import asyncio
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from atoll.adapters.linked.machine import Machine, refresh_machines
from atoll.adapters.linked.wall import FarWall
from atoll.adapters.rented.keeping import StoredFiles
from atoll.adapters.rented.machines import Rentals, RentedWithKey, keep_renewed
from atoll.adapters.rented.vendor import LIFE_SECONDS, Gone, RentedShell
from atoll.domain.errors import AtollError, Failed, Invalid, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.interior.remote import INIT
from atoll.domain.profile.profile import Profile
from atoll.domain.sandboxes.image import HOST
from atoll.domain.wall.isolation import Isolation
from atoll.ports.extension import Capabilities, CleanupReport, Provision, RentedPlace
from atoll.ports.far import FarBox, FarPlace, LinkTerms

RENEW_SECONDS = 300.0

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Offer:
    """An offer of a vendor as this installation takes it. `templates` maps a profile's image to
    the vendor's name for it, and `setting` is what sets them. `mechanism` is what separates
    machines there, `wall` what separates a sandbox from its machine, and `degraded` what neither
    gives."""

    capabilities: Capabilities
    templates: Mapping[str, str]
    mechanism: str
    programs: Path
    kind: str
    wall: Callable[[Machine], FarWall] = FarWall
    degraded: tuple[str, ...] = ()
    setting: str = "templates"


@dataclass(frozen=True, slots=True)
class _ConnectedMachine:
    """A rented machine that this process has a shell to, and the wall there."""

    rented: RentedWithKey
    wall: FarWall
    shell: RentedShell


@dataclass(slots=True)
class RentedBackend:
    """`ports.FarBackend` over a vendor. Without `rentals`, `missing` says what is not installed."""

    name: str
    offer: Offer
    rentals: Rentals | None
    missing: str = ""
    _connected: dict[str, _ConnectedMachine] = field(default_factory=dict)

    def capabilities(self) -> Capabilities:
        """Return the vendor's capabilities. Raises `Failed` when its library is not installed."""
        if self.rentals is None:
            raise Failed(self.missing)
        return self.offer.capabilities

    def lacks(self, profile: Profile) -> Sequence[str]:
        """Return that no machine can be rented for an image without a template."""
        if profile.image in self.offer.templates:
            return ()
        return (
            f"it has no template for image {profile.image[:80]!r}: the setting "
            f"`{self.offer.setting}` of {self.name} names one",
        )

    async def provision(self, request: Provision, terms: LinkTerms) -> FarPlace:
        """Start a far end on the sandbox's machine, which is rented when there is none. Raises
        `Invalid` for an image without a template."""
        template = self.offer.templates.get(request.profile.image)
        if template is None:
            raise Invalid("; ".join(self.lacks(request.profile)), field="image")
        if request.maintenance_seconds is None:
            request.report(f"rent a machine at {self._rentals.vendor.title}")
        rented = await self._rentals.rent(request.sandbox_id, template, request.profile)
        try:
            machine = await self._connect(request.sandbox_id, rented)
            await machine.wall.programs()
            await self._bring_files(request, machine)
            await machine.wall.start(request, terms)
        except Gone as error:
            self._forget(request.sandbox_id)
            raise Unavailable(f"{error.message}: the next start rents another one") from error
        return self._place(request, rented)

    async def _bring_files(self, request: Provision, machine: _ConnectedMachine) -> None:
        stored = await self._stored_files(request.sandbox_id, machine)
        has_files = await stored.is_there()
        await machine.wall.prepare(request)
        if request.fresh:
            stored.archive.unlink(missing_ok=True)
        elif not has_files:
            await stored.restore()
        await stored.mark()

    async def attach(self, request: Provision) -> FarPlace | None:
        """Return the far end that runs; None when none does, or no machine is there."""
        rented = await self._rentals.of(request.sandbox_id)
        if rented is None:
            return None
        try:
            machine = await self._connect(request.sandbox_id, rented)
            runs = await machine.wall.runs(request)
        except Gone:
            self._forget(request.sandbox_id)
            return None
        return self._place(request, rented) if runs else None

    async def carry(self, box: FarBox, near: socket.socket) -> None:
        """Carry bytes, and renew the machine's deadline meanwhile. Raises `Unavailable`, and `Gone`
        once the machine ended."""
        data = dict(box.data)
        rented = await self._rentals.by_id(data.get("machine", ""), data.get("key", ""))
        vendor = self._rentals.vendor
        loop = asyncio.get_running_loop()
        # Owned here: cancelled below.
        renewal = loop.create_task(keep_renewed(vendor, rented, every=RENEW_SECONDS))
        try:
            machine = await self._connect(box.sandbox_id, rented)
            await machine.wall.carry(box, near)
        except AtollError:
            self._connected.pop(box.sandbox_id, None)
            raise
        finally:
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)

    async def teardown(self, box: FarBox, *, keep_state: bool) -> CleanupReport:
        """End the machine. With `keep_state` its files are fetched first; a machine whose files
        cannot be fetched is left to its deadline."""
        sandbox_id = box.sandbox_id
        if keep_state:
            leftover = await self._save_files(sandbox_id)
            if leftover:
                return CleanupReport(leftovers=(leftover,))
        existed, leftover = await self._rentals.end(sandbox_id)
        self._connected.pop(sandbox_id, None)
        removed = [f"the machine at {self._rentals.vendor.title}"] if existed else []
        if not keep_state:
            archive = self._rentals.records.kept(sandbox_id)
            if archive.exists():
                archive.unlink()
                removed.append("workspace and agent state")
        return CleanupReport(tuple(removed), (leftover,) if leftover else ())

    async def refresh(self, boxes: Sequence[FarBox], source: str) -> None:
        """Bring new objects to the machine of each sandbox. A sandbox whose machine is gone needs
        none."""
        machines = []
        for box in boxes:
            rented = await self._rentals.of(box.sandbox_id)
            if rented is not None:
                with suppress(Gone):
                    machines.append((await self._connect(box.sandbox_id, rented)).wall.machine)
        await refresh_machines(machines, source)

    async def rented(self) -> list[RentedPlace]:
        """Return every machine of this home; none where the library is not installed."""
        return [] if self.rentals is None else await self.rentals.everything()

    async def end_rented(self, place: RentedPlace) -> bool:
        """End a machine."""
        return await self._rentals.end_place(place)

    async def close(self) -> None:
        """Close the vendor's connections."""
        if self.rentals is not None:
            await self.rentals.vendor.close()

    @property
    def _rentals(self) -> Rentals:
        if self.rentals is None:
            raise Failed(self.missing)
        return self.rentals

    async def _save_files(self, sandbox_id: SandboxId) -> str:
        """Fetch the files; returns a sentence about a machine that must stay for now."""
        rented = await self._rentals.of(sandbox_id)
        if rented is None:
            return ""
        try:
            machine = await self._connect(sandbox_id, rented)
            await machine.wall.stop(sandbox_id, "keep")
            stored = await self._stored_files(sandbox_id, machine)
            if await stored.is_there():
                await stored.save()
        except Gone:
            return ""
        except AtollError as error:
            with suppress(AtollError):
                await self._rentals.vendor.renew(rented.key, rented.machine, LIFE_SECONDS)
            return (
                f"machine {rented.machine} at {self._rentals.vendor.title}, which has the files "
                f"({error.message}): it ends within {LIFE_SECONDS // 60} minutes, unless the "
                "sandbox is started before"
            )
        return ""

    async def _connect(self, sandbox_id: SandboxId, rented: RentedWithKey) -> _ConnectedMachine:
        connected = self._connected.get(sandbox_id)
        if connected is not None and connected.rented == rented:
            return connected
        shell = await self._rentals.vendor.shell(rented.key, rented.machine)
        machine = Machine(shell, self._rentals.tag, self.offer.programs, self.offer.kind)
        connected = _ConnectedMachine(rented, self.offer.wall(machine), shell)
        self._connected[sandbox_id] = connected
        return connected

    async def _stored_files(self, sandbox_id: SandboxId, machine: _ConnectedMachine) -> StoredFiles:
        files = await machine.wall.files(sandbox_id)
        archive = self._rentals.records.kept(sandbox_id)
        return StoredFiles(machine.shell, files, archive, machine.wall.above_workspace(files))

    def _forget(self, sandbox_id: SandboxId) -> None:
        self._connected.pop(sandbox_id, None)
        self._rentals.records.remove(sandbox_id)

    def _place(self, request: Provision, rented: RentedWithKey) -> FarPlace:
        data = (("machine", rented.machine), ("key", rented.key.id))
        box = FarBox(request.sandbox_id, request.generation, data, request.host)
        offer = self.offer
        isolation = Isolation(offer.capabilities.isolation, offer.mechanism, offer.degraded)
        own_etc = offer.wall is FarWall
        return FarPlace(box, isolation, (INIT,), own_etc=own_etc)


def usual_templates(templates: Mapping[str, str], default: str | None) -> Mapping[str, str]:
    """Return a vendor's templates by image; `host` is its own default, if it has one, unless it is
    named."""
    return dict(templates) if default is None else {HOST: default, **templates}
