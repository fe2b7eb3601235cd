"""Candidates of a route: each backend at each of its places, as it is in this transaction."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from atoll.domain.errors import AtollError
from atoll.domain.hosts.host import LOCAL, Host
from atoll.domain.placement import PlaceRequest, candidates, no_host_of
from atoll.domain.profile.demands import PLACEMENT, as_demanded, demands_beyond_isolation
from atoll.domain.profile.profile import Profile
from atoll.domain.routes.candidate import COMPOSE_FIELDS, Candidate, ImageKind
from atoll.domain.routes.health import health_of
from atoll.domain.routes.policy import DESKTOP
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.secrets.secret import no_key
from atoll.ports import Extension, Transaction
from atoll.ports.extension import SELF_HOSTED, Capabilities, Examines, JudgesProfiles
from atoll.ports.outside.desktops import LinkedDesktops
from atoll.ports.store.hosts.routes import Place
from atoll.services.ground import Ground
from atoll.services.lifecycle.host_room import HostRoom, all_hosts
from atoll.services.lifecycle.vendor_keys import pays_for
from atoll.wire.words.hosts import HostKind
from atoll.wire.words.routes import Breaker, ExecutionMode
from atoll.wire.words.sandboxes import State
from atoll.wire.words.walls import IsolationLevel

EXAMINE_SECONDS = 5.0
"""For a backend to find out what its machine gives; past it, what is known counts."""
SILENT_FOR = timedelta(seconds=30)
"""The time until one that did not answer is asked again."""

NOT_LINKED = "no machine of yours is linked, and a desktop is there while its person links it"
WORKERS_ALONE = "a desktop takes workers, and no other sandbox"
WALL_ALONE = "a desktop keeps no more of a profile than its isolation"
_NO_SNAPSHOTS = "it keeps no snapshots, which the profile's `{}` asks for"
_NOT_HERE = "this Atoll does not have it: its setting `extensions` names those that it has"
_NO_HOSTS = ((PLACEMENT, "its machines are rented, and none has a name"),)
_NO_COMPOSE = tuple((field, "it runs no compose file") for field in sorted(COMPOSE_FIELDS))


@dataclass(frozen=True, slots=True)
class Placing:
    """A sandbox to place, and the host that its caller named, if any. With `desktops` the person's
    own machine is judged, too, where no backend for it is installed; with `worker` a worker is to
    be placed, which these take. `names_profile`: its request named the profile, so nothing of that
    may be dropped. `demands` are the fields of request and profile that somebody named."""

    sandbox: Sandbox
    host: str | None = None
    demands: frozenset[str] = frozenset()
    desktops: bool = False
    worker: bool = False
    names_profile: bool = False

    @property
    def profile(self) -> Profile:
        """The recipe of the sandbox."""
        return self.sandbox.profile

    @property
    def demanded(self) -> Profile:
        """The recipe as it was asked for."""
        return as_demanded(self.profile, self.demands)


class Candidates:
    """The places where sandboxes can be, with their room and their health."""

    def __init__(
        self,
        ground: Ground,
        room: HostRoom,
        extensions: Mapping[str, Extension],
        *,
        linked: LinkedDesktops,
    ) -> None:
        self._ground = ground
        self._linked = linked
        self._room = room
        self._extensions = extensions
        self._silent_until: dict[str, datetime] = {}

    @property
    def installed(self) -> Mapping[str, Extension]:
        """The backends by name, aliases too."""
        return self._extensions

    async def has_desktop(self, sandbox: Sandbox) -> bool:
        """Return whether the owner of a sandbox has linked a machine."""
        return bool(await self._linked(sandbox.org_id, sandbox.owner))

    async def examine(self) -> None:
        """Have every backend find out what its machine gives. Before a transaction: one may have to
        ask. A backend that does not say is judged by what is known of it; one that does not answer
        in time is not asked again for a while."""
        by_name = {extension.name: extension for extension in self._extensions.values()}
        async with asyncio.TaskGroup() as tasks:
            for extension in by_name.values():
                if isinstance(extension, Examines):
                    tasks.create_task(self._examine(extension.name, extension))

    async def _examine(self, name: str, extension: Examines) -> None:
        now = self._ground.clock.now()
        if self._silent_until.get(name, now) > now:
            return
        with suppress(AtollError):
            try:
                async with asyncio.timeout(EXAMINE_SECONDS):
                    await extension.examine()
            except TimeoutError:
                self._silent_until[name] = now + SILENT_FOR

    async def of(
        self,
        rows: Transaction,
        placing: Placing,
        names: Sequence[str],
        *,
        beside: Sequence[str] = (),
    ) -> list[Candidate]:
        """Return the candidates of these extensions; without a name, of every one. Of those
        `beside` them only what is not there is judged, so that its reason is told."""
        wanted = list(names) or sorted({extension.name for extension in self._extensions.values()})
        if placing.desktops and DESKTOP not in wanted and not names:
            wanted.append(DESKTOP)
        known = {*wanted, *(extension.name for extension in self._extensions.values()), DESKTOP}
        wanted += [name for name in beside if name not in known]
        hosts = [*await all_hosts(rows), *await self._desktops(placing, wanted)]
        places = [
            candidate
            for name in wanted
            for candidate in await self._at_places(rows, placing, name=name, hosts=hosts)
        ]
        return await self._with_health(rows, places)

    async def _desktops(self, placing: Placing, wanted: Sequence[str]) -> Sequence[Host]:
        """Return the machines that the sandbox's owner linked."""
        if DESKTOP not in wanted:
            return ()
        return await self._linked(placing.sandbox.org_id, placing.sandbox.owner)

    async def _at_places(
        self, rows: Transaction, placing: Placing, *, name: str, hosts: Sequence[Host]
    ) -> list[Candidate]:
        extension = self._extensions.get(name)
        if name == DESKTOP and not any(host.kind is HostKind.DESKTOP for host in hosts):
            return [Candidate(name, execution_mode=ExecutionMode.DESKTOP, unavailable=NOT_LINKED)]
        if extension is None and name == DESKTOP:
            return _own_machines(placing, hosts)
        if extension is None:
            return [Candidate(name, unavailable=_NOT_HERE)]
        try:
            able = extension.capabilities()
        except AtollError as err:
            return [Candidate(name, unavailable=err.message)]
        lacking = (*_lacks(extension, placing), *_lacks_snapshots(able, placing))
        base = replace(_able(name, able), lacking=lacking)
        if able.needs_key and not await pays_for(rows, extension.name, placing.sandbox):
            return [replace(base, region=able.regions[0], obstacles=(no_key(extension.name),))]
        if able.host_kind is None:
            elsewhere = () if placing.host is None else (f"{placing.host} is no host of its own",)
            return [replace(base, region=region, obstacles=elsewhere) for region in able.regions]
        return await self._on_hosts(rows, placing, base=base, kind=able.host_kind, hosts=hosts)

    async def _on_hosts(
        self,
        rows: Transaction,
        placing: Placing,
        *,
        base: Candidate,
        kind: HostKind,
        hosts: Sequence[Host],
    ) -> list[Candidate]:
        profile = placing.profile
        request = PlaceRequest(
            kind, placing.sandbox.org_id, profile.id, profile.placement, placing.host
        )
        taken = candidates(request, hosts)
        by_name = {host.name: host for host in hosts}
        places = [
            replace(
                _on(base, host, order), obstacles=await self._find_shortages(rows, placing, host)
            )
            for order, host in enumerate(taken.hosts)
        ]
        places += [
            replace(
                _on(base, by_name.get(rejection.name), 0),
                host=rejection.name,
                obstacles=(rejection.reason,),
            )
            for rejection in taken.rejected
        ]
        return places or [replace(base, obstacles=(no_host_of(kind),))]

    async def _find_shortages(
        self, rows: Transaction, placing: Placing, host: Host
    ) -> tuple[str, ...]:
        """Return what a host lacks for a sandbox; nothing when it has room."""
        lack = await self._room.shortage(rows, host, placing.sandbox)
        return () if lack is None else (lack,)

    async def _with_health(self, rows: Transaction, places: Sequence[Candidate]) -> list[Candidate]:
        known = await rows.routes.outcomes({candidate.extension for candidate in places})
        now = self._ground.clock.now()
        judged = []
        for option in places:
            health = health_of(known.get(place_of(option), ()), now)
            candidate = replace(option, health=health)
            if health.breaker is Breaker.HALF_OPEN and await self._has_start_under_way(
                rows, option
            ):
                candidate = replace(candidate, on_trial=True)
            judged.append(candidate)
        return judged

    async def _has_start_under_way(self, rows: Transaction, candidate: Candidate) -> bool:
        """Report whether a sandbox with this extension starts on the host now."""
        starting = await rows.hosts.sandboxes(candidate.host, [State.PROVISIONING])
        return any(sandbox.profile.extension == candidate.extension for sandbox in starting)


def place_of(candidate: Candidate) -> Place:
    """Return the place whose health counts for a candidate."""
    return candidate.extension, candidate.host or candidate.region


def _own_machines(placing: Placing, hosts: Sequence[Host]) -> list[Candidate]:
    """Return the desktops themselves: workers need no backend there. Their network is their
    person's, whom nobody keeps from it."""
    desktops = [host for host in hosts if host.kind is HostKind.DESKTOP]
    dropped = demands_beyond_isolation(placing.profile) if placing.names_profile else ()
    return [
        Candidate(
            DESKTOP,
            host.name,
            order=order,
            isolation=host.isolation.level if host.isolation else IsolationLevel.NONE,
            images=frozenset({ImageKind.HOST}),
            execution_mode=ExecutionMode.DESKTOP,
            obstacles=() if placing.worker else (WORKERS_ALONE,),
            lacking=tuple(f"it cannot act on {field}: {WALL_ALONE}" for field in sorted(dropped)),
            weak=host.isolation is None or host.isolation.weak,
        )
        for order, host in enumerate(desktops)
        if placing.host in (None, host.name)
    ]


def _able(name: str, able: Capabilities) -> Candidate:
    return Candidate(
        name,
        isolation=able.isolation,
        self_hosted=able.pricing == SELF_HOSTED,
        execution_mode=_mode(able),
        gpus=able.gpus,
        images=able.images,
        closes_network=able.closes_network,
        abilities=able.abilities,
        limits=able.limits,
        ignores=_ignores_of(able),
        needs_compose=able.needs_compose,
        cost_per_hour=able.cost_per_hour,
    )


def _ignores_of(able: Capabilities) -> tuple[tuple[str, str], ...]:
    """Return what a backend ignores, and what follows from what it is."""
    compose = () if able.compose else _NO_COMPOSE
    hosts = _NO_HOSTS if able.host_kind is None else ()
    return (*able.ignores, *compose, *hosts)


def _mode(able: Capabilities) -> ExecutionMode:
    own = able.host_kind is HostKind.DESKTOP
    return ExecutionMode.DESKTOP if own else ExecutionMode.SANDBOX


def _on(base: Candidate, host: Host | None, order: int) -> Candidate:
    """Return a candidate at a host, with the region and the price of that."""
    if host is None:
        return base
    region = host.region or (LOCAL if host.kind is HostKind.LOCAL else "")
    price = base.cost_per_hour if host.cost_per_hour is None else host.cost_per_hour
    return replace(base, host=host.name, region=region, order=order, cost_per_hour=price)


def _lacks(extension: Extension, placing: Placing) -> Sequence[str]:
    if isinstance(extension, JudgesProfiles):
        return extension.lacks(placing.demanded)
    return ()


def _lacks_snapshots(able: Capabilities, placing: Placing) -> Sequence[str]:
    if able.snapshots is not None:
        return ()
    values = {"checkpoint": placing.profile.checkpoint, "seed": placing.profile.seed}
    return [_NO_SNAPSHOTS.format(key) for key, value in values.items() if value is not None]
