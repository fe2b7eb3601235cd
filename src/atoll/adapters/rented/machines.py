"""The machine of a sandbox at a vendor: found by its tags, else rented, at most one.

A create whose answer was lost is looked up before another is sent. A crash in between is no
different: the record on disk says that a create may be under way, and holds its token.
"""

import asyncio
import secrets
from dataclasses import dataclass, replace

import structlog

from atoll.adapters.rented.records import Record, Records
from atoll.adapters.rented.vendor import (
    INSTALLATION,
    LIFE_SECONDS,
    OURS,
    SANDBOX,
    Gone,
    Order,
    RentedMachine,
    Tags,
    Vendor,
)
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile
from atoll.domain.secrets.secret import no_key
from atoll.ports.extension import FindKeys, RentedPlace, VendorKey

TRIES = 3
PAUSE_SECONDS = 1.0
MAX_LISTED = 50_000
"""Machines that are looked at in one listing: beyond that a vendor's pages have no end."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RentedWithKey:
    """A rented machine, and the key that pays for it."""

    key: VendorKey
    machine: str


@dataclass(frozen=True, slots=True)
class Rentals:
    """The machines of this home, by `tag` and `installation`, for the extension `name`."""

    name: str
    vendor: Vendor
    tag: str
    records: Records
    find_keys: FindKeys
    installation: str = ""

    async def rent(
        self, sandbox_id: SandboxId, template: str, profile: Profile | None = None
    ) -> RentedWithKey:
        """Return the sandbox's machine, rented when there is none. Raises `Failed`,
        `Unavailable`."""
        keys = await self.find_keys(self.name, sandbox_id)
        if not keys:
            raise Failed(no_key(self.name))
        record = self.records.read(sandbox_id)
        paying = [key for key in keys if record is not None and key.id == record.key]
        key = (paying or list(keys))[0]
        machine = await self._only_one(key, sandbox_id)
        if machine is None:
            tags = (*self._tags(sandbox_id), (INSTALLATION, self.installation))
            order = Order(template, tags, LIFE_SECONDS, "", profile)
            machine = await self._create(key, sandbox_id, order)
        token = "" if record is None else record.token
        self.records.write(sandbox_id, Record(key.id, token, machine.id))
        return RentedWithKey(key, machine.id)

    async def of(self, sandbox_id: SandboxId) -> RentedWithKey | None:
        """Return the sandbox's machine; None when none is found with the keys there are."""
        keys = await self.find_keys(self.name, sandbox_id)
        record = self.records.read(sandbox_id)
        if record is not None and record.machine:
            for key in keys:
                if key.id == record.key:
                    return RentedWithKey(key, record.machine)
        for key in keys:
            machine = await self._only_one(key, sandbox_id)
            if machine is not None:
                return RentedWithKey(key, machine.id)
        return None

    async def by_id(self, machine: str, key_id: str) -> RentedWithKey:
        """Return a machine by its id, which a far box has. Raises `Unavailable` without its key."""
        for key in await self.find_keys(self.name, None):
            if key.id == key_id:
                return RentedWithKey(key, machine)
        raise Unavailable(
            f"the key of machine {machine} at {self.vendor.title} is not known any more"
        )

    async def end(self, sandbox_id: SandboxId) -> tuple[bool, str]:
        """End every machine of a sandbox. Returns whether there was one, and a sentence about what
        may be left."""
        keys = await self.find_keys(self.name, sandbox_id)
        record = self.records.read(sandbox_id)
        if record is not None and record.key not in {key.id for key in keys}:
            return False, (
                f"a machine at {self.vendor.title} whose key is not known any more: it ends by "
                f"itself within {LIFE_SECONDS // 60} minutes"
            )
        existed = False
        for key in keys:
            machines = {
                machine.id for machine in await self._find_machines(key, self._tags(sandbox_id))
            }
            if record is not None and record.machine and key.id == record.key:
                # A list may lag behind what was rented.
                machines.add(record.machine)
            for machine in sorted(machines):
                existed = await self.vendor.end(key, machine) or existed
        self.records.remove(sandbox_id)
        return existed, ""

    async def everything(self) -> list[RentedPlace]:
        """Return every machine of this installation, once, whichever keys see it. One from before
        there was a tag for installations counts while there is a record of its sandbox here."""
        places: dict[str, RentedPlace] = {}
        for key in await self.find_keys(self.name, None):
            for machine in await self._find_machines(key, ((OURS, self.tag),)):
                sandbox_id = SandboxId(machine.tag(SANDBOX))
                if not self._is_ours(machine, sandbox_id):
                    continue
                places[machine.id] = RentedPlace(machine.id, sandbox_id, key.id, machine.ends_at)
        return list(places.values())

    async def end_place(self, place: RentedPlace) -> bool:
        """End a machine; returns whether it was there. Raises `Failed` without its key."""
        for key in await self.find_keys(self.name, None):
            if key.id == place.key:
                return await self.vendor.end(key, place.id)
        raise Failed(f"the key of machine {place.id} at {self.vendor.title} is not known any more")

    async def _create(
        self, key: VendorKey, sandbox_id: SandboxId, template_order: Order
    ) -> RentedMachine:
        before = self.records.read(sandbox_id)
        interrupted = before is not None and not before.machine and before.key == key.id
        token = before.token if interrupted and before is not None else secrets.token_hex(16)
        self.records.write(sandbox_id, Record(key.id, token))
        order = replace(template_order, token=token)
        for attempt in range(1, TRIES + 1):
            try:
                machine = await self.vendor.create(key, order)
            except Unavailable as error:
                _log.warning("create_unsure", sandbox=sandbox_id, reason=error.message)
                earlier = await self._only_one(key, sandbox_id)
                if earlier is not None:
                    return earlier
                if attempt == TRIES:
                    raise
                await asyncio.sleep(PAUSE_SECONDS * attempt)
            except Failed:
                # Refused for good: nothing is under way.
                self.records.remove(sandbox_id)
                raise
            else:
                if interrupted or attempt > 1:
                    return await self._only_one(key, sandbox_id, keep=machine.id) or machine
                return machine
        raise Unavailable(f"{self.vendor.title} made no machine for sandbox {sandbox_id}")

    async def _only_one(
        self, key: VendorKey, sandbox_id: SandboxId, *, keep: str = ""
    ) -> RentedMachine | None:
        """Return the machine of a sandbox, and end any others that a lost answer left."""
        machines = await self._find_machines(key, self._tags(sandbox_id))
        record = self.records.read(sandbox_id)
        preferred = keep or (record.machine if record is not None else "")
        machines.sort(key=lambda machine: (machine.ended, machine.id != preferred, machine.id))
        live = machines[:1] if machines and not machines[0].ended else []
        for other in machines[len(live) :]:
            _log.warning("other_machine_ended", sandbox=sandbox_id, machine=other.id)
            await self.vendor.end(key, other.id)
        return live[0] if live else None

    async def _find_machines(self, key: VendorKey, tags: Tags) -> list[RentedMachine]:
        """Return the machines whose tags are these by our own comparison: a vendor may list others,
        which are not ours to end."""
        machines: dict[str, RentedMachine] = {}
        count = 0
        async for machine in self.vendor.find(key, tags):
            count += 1
            if count > MAX_LISTED:
                raise Failed(f"{self.vendor.title} lists more than {MAX_LISTED} machines")
            if all(machine.tag(name) == value for name, value in tags):
                machines[machine.id] = machine
        return list(machines.values())

    def _is_ours(self, machine: RentedMachine, sandbox_id: SandboxId) -> bool:
        made_by = dict(machine.tags).get(INSTALLATION)
        if made_by is None:
            return self.records.read(sandbox_id) is not None
        return made_by == self.installation

    def _tags(self, sandbox_id: SandboxId) -> Tags:
        return ((OURS, self.tag), (SANDBOX, sandbox_id))


async def keep_renewed(vendor: Vendor, rented: RentedWithKey, *, every: float) -> None:
    """Renew a machine's deadline until cancelled. A failure is logged and tried again."""
    while True:
        try:
            await vendor.renew(rented.key, rented.machine, LIFE_SECONDS)
        except Gone:
            return
        except AtollError as error:
            _log.warning("deadline_not_renewed", machine=rented.machine, reason=error.message)
        await asyncio.sleep(every)
