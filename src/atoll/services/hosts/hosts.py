"""Hosts, as administrators add, look at, drain and remove them.

The key of a host is pinned when it is added, and nothing here ever replaces it: a host whose key
was changed on purpose is removed and added again.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from atoll.domain.errors import Conflict, Failed, Invalid, LimitReached, NotFound
from atoll.domain.event import Json
from atoll.domain.hosts.host import LOCAL, Capacity, Host, HostCheck, HostId, HourlyCost
from atoll.domain.hosts.reading import (
    best_key,
    default_host_name,
    fingerprint,
    read_address,
    read_capacity,
    read_fingerprint,
    read_host_key,
    read_host_name,
    read_labels,
    read_overcommit,
    read_word,
)
from atoll.domain.ids import PERSONAL_ORG, OrgId
from atoll.domain.people.principal import Principal
from atoll.domain.placement import HostLoad
from atoll.domain.profile.schema import profile_id
from atoll.ports import Transaction
from atoll.ports.host import Finding
from atoll.ports.outside.ssh import SshMachines
from atoll.services.ground import Ground
from atoll.services.hosts.evacuation import Evacuation, Evacuations
from atoll.services.journals.events import Note, draft_of
from atoll.services.lifecycle.host_room import HostRoom, all_hosts
from atoll.services.references import FindProfile, check_profile
from atoll.wire.words.hosts import MAX_HOSTS, HostKind, HostState

STREAM = "hosts"

Findings = Callable[[], Awaitable[tuple[Sequence[Finding], datetime]]]
"""Findings on this machine, and when they were made."""


@dataclass(frozen=True, slots=True)
class HostTraits:
    """The traits that an administrator gives a host; None leaves what is there. An empty text, and
    an empty `Capacity`, take it away."""

    region: str | None = None
    labels: tuple[tuple[str, str], ...] | None = None
    capacity: Capacity | None = None
    overcommit: float | None = None
    cost_per_hour: HourlyCost | None = None
    organization: str | None = None
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class NewHost:
    """A host to add. With `host_key` that key is pinned and nothing is asked; with `fingerprint`
    the machine must show a key that has it; else the key that it shows is pinned."""

    address: str
    name: str | None = None
    host_key: str | None = None
    fingerprint: str | None = None
    traits: HostTraits = HostTraits()


@dataclass(frozen=True, slots=True)
class HostReport:
    """A host, and the room that is taken on it. `kept` are sandboxes that take none."""

    host: Host
    load: HostLoad
    kept: int


@dataclass(frozen=True, slots=True)
class HostTrust:
    """The fingerprint of the key that is pinned for a host, and of the keys that it shows."""

    name: str
    pinned: str
    shown: tuple[str, ...]


class Hosts:
    """The hosts of the installation, by name or id. A missing one is `NotFound`."""

    def __init__(
        self,
        ground: Ground,
        room: HostRoom,
        machines: SshMachines,
        *,
        findings: Findings,
        evacuations: Evacuations,
        find_profile: FindProfile,
    ) -> None:
        self._ground = ground
        self._room = room
        self._machines = machines
        self._findings = findings
        self._evacuations = evacuations
        self._find_profile = find_profile

    async def add(self, caller: Principal, new: NewHost) -> tuple[HostReport, str]:
        """Return a new host, and the line for `~/.ssh/authorized_keys` there. Raises `Invalid`,
        `Conflict` for a name that is taken (code `host_key_changed` when it is pinned to another
        key), `Unavailable` for a machine that shows no key, and `LimitReached`."""
        place = read_address(new.address)
        name = default_host_name(place) if new.name is None else read_host_name(new.name)
        if name == LOCAL:
            raise Invalid("`local` is this machine: give the host another name", field="name")
        key = await self._key(new)
        made = Host(
            HostId(self._ground.ids.new("ho")),
            name,
            HostKind.SSH,
            self._ground.clock.now(),
            address=new.address.rstrip("/"),
            host_key=key,
        )
        async with self._ground.store.begin() as rows:
            there = await all_hosts(rows)
            _check_free(made, there)
            host = await self._with_checked_traits(rows, caller, made, new.traits)
            await rows.hosts.put(host)
            more: dict[str, Json] = {"address": host.address, "fingerprint": fingerprint(key)}
            await self._append(rows, caller, host, "host.added", more)
        self._ground.bus.announce((STREAM,))
        return HostReport(host, HostLoad(), 0), await self._machines.public_key()

    async def list(self) -> list[HostReport]:
        """Return every host, by name."""
        async with self._ground.store.read() as rows:
            return [await self._report(rows, host) for host in await all_hosts(rows)]

    async def get(self, ref: str) -> HostReport:
        """Return a host."""
        async with self._ground.store.read() as rows:
            return await self._report(rows, await _find_host(rows, ref))

    async def check(self, ref: str) -> HostCheck:
        """Look at a host: its key, its wall, and what it lacks. Nothing is stored."""
        host = (await self.get(ref)).host
        if host.kind is HostKind.SSH:
            return await self._machines.examine(host)
        if host.kind is HostKind.DESKTOP:
            raise Failed(f"host {host.name} is a desktop: it is there while its person links it")
        findings, _ = await self._findings()
        problems = tuple(finding.text for finding in findings if finding.level == "fail")
        lacks = tuple(finding.text for finding in findings if finding.level == "warn")
        return HostCheck(True, None, not problems, problems, lacks)

    async def change(self, caller: Principal, ref: str, traits: HostTraits) -> HostReport:
        """Change what is said of a host. What it holds beyond a new capacity stays."""
        return await self._change_host(
            caller,
            ref,
            "host.changed",
            lambda rows, host: self._with_checked_traits(rows, caller, host, traits),
        )

    async def trust(self, caller: Principal, ref: str, wanted: str | None) -> HostTrust:
        """Return the fingerprints of the key that is pinned for a host and of those it shows now.
        The shown key with the fingerprint `wanted` is pinned, whatever stands there; without one
        nothing changes. Raises `Conflict` (`host_key_changed`) where it shows none with it,
        `Unavailable` where it shows no key."""
        host = (await self.get(ref)).host
        if host.kind is not HostKind.SSH:
            raise Conflict(f"no key is pinned for host {host.name}: it is not reached by SSH")
        shown = await self._machines.host_keys(read_address(host.address))
        prints = tuple(map(fingerprint, shown))
        if wanted is None:
            return HostTrust(host.name, fingerprint(host.host_key), prints)
        key = dict(zip(prints, shown, strict=True)).get(read_fingerprint(wanted))
        if key is None:
            raise Conflict(
                f"host {host.name} shows no key with the fingerprint {wanted}: it shows "
                f"{', '.join(prints)}. The pinned one stays",
                code="host_key_changed",
                field="fingerprint",
            )

        async def pin(_rows: Transaction, host: Host) -> Host:
            return replace(host, host_key=read_host_key(key))

        report = await self._change_host(caller, ref, "host.trusted", pin)
        return HostTrust(host.name, fingerprint(report.host.host_key), prints)

    async def drain(self, caller: Principal, ref: str) -> HostReport:
        """Have a host take no new sandbox. Those on it go on, and may be started again."""
        return await self._to(caller, ref, HostState.DRAINING, "host.drained")

    async def evacuate(self, caller: Principal, ref: str) -> tuple[HostReport, Evacuation]:
        """Drain a host, and have what is stopped there move to other hosts that fit."""
        drained = await self.drain(caller, ref)
        evacuation = await self._evacuations.begin(caller, drained.host.name)
        return await self.get(ref), evacuation

    async def undrain(self, caller: Principal, ref: str) -> HostReport:
        """Have a host take sandboxes again."""
        return await self._to(caller, ref, HostState.ACTIVE, "host.undrained")

    async def remove(self, caller: Principal, ref: str) -> None:
        """Forget a host. Raises `Conflict` while sandboxes are on it, and for `local`. Those whose
        destruction rests there rest on, until a host of this name is added."""
        async with self._ground.store.begin() as rows:
            host = await _find_host(rows, ref)
            if host.name == LOCAL:
                raise Conflict("`local` is this machine, which stays: drain it to keep it free")
            # Nothing is sent to a host that is not trusted: what rests there does not hold it.
            there = [
                sandbox
                for sandbox in await rows.hosts.sandboxes(host.name)
                if not sandbox.leftovers
            ]
            if there:
                raise Conflict(
                    f"host {host.name} has sandboxes ({len(there)}, such as {there[0].name}): "
                    "destroy them first, or drain it",
                    code="host_in_use",
                )
            for sandbox in await rows.sandboxes.unfinished():
                relocation = sandbox.relocation
                if relocation is not None and host.name in (relocation.source, relocation.target):
                    raise Conflict(
                        f"the files of {sandbox.name} go from host {relocation.source} to "
                        f"{relocation.target}: wait until they are there",
                        code="host_in_use",
                    )
            await rows.hosts.remove(host.name)
            await rows.routes.forget(host.name)
            await self._append(rows, caller, host, "host.removed")
        self._ground.bus.announce((STREAM,))

    async def _key(self, new: NewHost) -> str:
        """Return the key to pin."""
        wanted = None if new.fingerprint is None else read_fingerprint(new.fingerprint)
        if new.host_key is not None:
            key = read_host_key(new.host_key)
            if wanted not in (None, fingerprint(key)):
                raise Invalid(f"the key has the fingerprint {fingerprint(key)}", field="host_key")
            return key
        shown = await self._machines.host_keys(read_address(new.address))
        if wanted is not None:
            fit = tuple(key for key in shown if fingerprint(key) == wanted)
            if not fit:
                raise Conflict(
                    f"the machine at {new.address} shows no key with the fingerprint {wanted}: "
                    f"it shows {', '.join(map(fingerprint, shown))}. Nothing was added",
                    code="host_key_changed",
                )
            shown = fit
        key = best_key(shown) or ""
        return read_host_key(key)

    async def _with_checked_traits(
        self, rows: Transaction, caller: Principal, host: Host, traits: HostTraits
    ) -> Host:
        """Return a host with what is said of it. Raises `Invalid`."""
        after = await _with_traits(rows, host, traits)
        if traits.profile:
            # The sandboxes of its organization are to have this profile.
            there = replace(caller, org_id=after.organization or caller.org_id)
            await check_profile(self._find_profile, there, traits.profile, field="profile")
        return after

    async def _to(self, caller: Principal, ref: str, state: HostState, kind: str) -> HostReport:
        async def change(_rows: Transaction, host: Host) -> Host:
            return replace(host, state=state)

        return await self._change_host(caller, ref, kind, change)

    async def _change_host(
        self,
        caller: Principal,
        ref: str,
        kind: str,
        change: Callable[[Transaction, Host], Awaitable[Host]],
    ) -> HostReport:
        """Apply a change to a host, append its event, and return the host's report."""
        async with self._ground.store.begin() as rows:
            before = await _find_host(rows, ref)
            host = await change(rows, before)
            if host != before:
                await rows.hosts.put(host)
                await self._append(rows, caller, host, kind)
            report = await self._report(rows, host)
        self._ground.bus.announce((STREAM,))
        return report

    async def _report(self, rows: Transaction, host: Host) -> HostReport:
        there = await rows.hosts.sandboxes(host.name)
        load = await self._room.load(rows, host.name)
        return HostReport(host, load, len(there) - load.sandboxes)

    async def _append(
        self,
        rows: Transaction,
        caller: Principal,
        host: Host,
        kind: str,
        more: dict[str, Json] | None = None,
    ) -> None:
        payload: dict[str, Json] = {
            "host_id": host.id,
            "name": host.name,
            "kind": host.kind.value,
            **(more or {}),
        }
        ground = self._ground
        note = Note(STREAM, kind, payload)
        draft = draft_of(note, caller, at=ground.clock.now(), event_id=ground.ids.event())
        await rows.events.append((draft,))


async def _find_host(rows: Transaction, ref: str) -> Host:
    for host in await all_hosts(rows):
        if ref in (host.name, host.id):
            return host
    raise NotFound(f"There is no host {ref[:80]!r}: list them to see which there are.")


def _check_free(made: Host, there: Sequence[Host]) -> None:
    for host in there:
        if host.name != made.name:
            continue
        if host.host_key != made.host_key:
            raise Conflict(
                f"host {host.name} is pinned to {fingerprint(host.host_key)}, and this key is "
                f"{fingerprint(made.host_key)}: find out why before you remove it and add it anew",
                code="host_key_changed",
                field="host_key",
            )
        raise Conflict(
            f"there is a host {host.name}, at {host.address}: choose another name, or change that "
            "one",
            code="name_taken",
            field="name",
        )
    if len(there) > MAX_HOSTS:
        raise LimitReached(f"there are {MAX_HOSTS} hosts already: remove one first")


async def _with_traits(rows: Transaction, host: Host, traits: HostTraits) -> Host:
    """Return a host with what is said of it. Raises `Invalid`."""
    after = host
    if traits.region is not None:
        region = read_word(traits.region, field="region") if traits.region else ""
        after = replace(after, region=region)
    if traits.labels is not None:
        after = replace(after, labels=read_labels(dict(traits.labels)))
    if traits.capacity is not None:
        after = replace(after, capacity=read_capacity(traits.capacity))
    if traits.overcommit is not None:
        after = replace(after, overcommit=read_overcommit(traits.overcommit))
    if traits.cost_per_hour is not None:
        after = replace(after, cost_per_hour=traits.cost_per_hour)
    if traits.organization is not None:
        after = replace(after, organization=await _organization(rows, traits.organization))
    if traits.profile is not None:
        after = replace(after, profile=profile_id(traits.profile) if traits.profile else None)
    return after


async def _organization(rows: Transaction, ref: str) -> OrgId | None:
    if not ref:
        return None
    organization = await rows.organizations.get(ref)
    if organization is None and ref != PERSONAL_ORG:
        raise Invalid(f"there is no organization {ref[:80]!r}", field="organization")
    return PERSONAL_ORG if organization is None else organization.id
