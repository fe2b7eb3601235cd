"""Backends as pools use them: what they build, where it goes, and how it ends."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from atoll.domain.errors import Conflict, Failed, Invalid
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import SYSTEM
from atoll.domain.placement import HostLoad
from atoll.domain.pools.pool import Pool, PooledSandbox
from atoll.domain.profile.demands import demands_of
from atoll.domain.routes.policy import RouteOptions
from atoll.domain.sandboxes.create import Circumstances, grant
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox
from atoll.ports import Extension, Handle, Transaction
from atoll.ports.extension import KeepsPools
from atoll.services.ground import Ground
from atoll.services.lifecycle.host_room import HostRoom, all_hosts
from atoll.services.lifecycle.room import SandboxRoom
from atoll.services.policies.network_boundary import Registries
from atoll.services.provisioning.provisioning import backend_request
from atoll.services.routes.routing import Routing
from atoll.services.sandboxes.admission import ProfileSource

BUILD_SECONDS: Final = 2400.0
END_SECONDS: Final = 120.0


class PooledBackends:
    """Environments that backends build before anybody asks for one."""

    def __init__(
        self,
        ground: Ground,
        extensions: Mapping[str, Extension],
        *,
        profiles: ProfileSource,
        routing: Routing,
        registries: Registries,
        room: SandboxRoom,
        hosts: HostRoom,
    ) -> None:
        self._ground = ground
        self._extensions = extensions
        self._profiles = profiles
        self._routing = routing
        self._registries = registries
        self._room = room
        self._hosts = hosts

    async def place(self, pool: Pool) -> Sandbox:
        """Return the next environment of a pool as a sandbox, in its place. Raises `NotFound` for a
        profile that is gone, `Invalid` for one whose backend builds nothing before it is asked,
        `LimitReached`, and `Conflict` when no host has room beside what waits there already."""
        caller = replace(SYSTEM, org_id=pool.org_id, id=pool.set_by)
        profile = replace(await self._profiles.get(caller, pool.profile), repos=(), agent=None)
        circumstances = Circumstances(
            caller=caller, now=self._ground.clock.now(), taken=(), sandbox_id=self.new_id()
        )
        granted = grant(CreateSandbox(profile=profile.id), profile, circumstances)
        options = RouteOptions(fields=demands_of(profile, {}))
        await self._routing.examine()
        async with self._ground.store.read() as rows:
            allowed = await self._room.take(rows, granted)
            placed, _ = await self._routing.place(rows, allowed, options, host=None)
            self._check_able(placed)
            await self.check_room(rows, placed)
        return placed

    def new_id(self) -> SandboxId:
        """Return the id of a sandbox to come."""
        return SandboxId(self._ground.ids.new("sb"))

    async def check_room(self, rows: Transaction, placed: Sandbox) -> None:
        """Check that a template's host has room beside what waits there. Raises `Conflict`."""
        waiting = HostLoad()
        for each in await rows.pooled.everything():
            if each.host == placed.host:
                waiting = waiting.plus(self._hosts.room_of(each.profile.resources))
        for host in await all_hosts(rows):
            if host.name == placed.host:
                lack = await self._hosts.shortage(rows, host, placed, beside=waiting)
                if lack is not None:
                    raise Conflict(f"Host {host.name} has no room for more: {lack}.")

    async def build(self, placed: Sandbox) -> Handle:
        """Have an environment built for a template, or looked at where it is there. Raises what the
        backend raises, and `Failed` when that takes too long."""
        extension = self._extensions.get(placed.profile.extension)
        if extension is None or not isinstance(extension, KeepsPools):
            raise Failed(f"{placed.profile.extension} builds nothing before it is asked any more.")
        await self._registries.check(placed, extension)
        try:
            async with asyncio.timeout(BUILD_SECONDS):
                return await extension.build_pooled(
                    backend_request(placed, (), env=(), fresh=False)
                )
        except TimeoutError as err:
            raise Failed(f"{extension.name} did not build it in {BUILD_SECONDS:g} s.") from err

    async def end(self, pooled: PooledSandbox) -> None:
        """Have an environment ended; that of a backend that is gone is forgotten. Raises what the
        backend raises, and `Failed` for what it could not remove."""
        name = pooled.profile.extension
        extension = self._extensions.get(name)
        if extension is None:
            return
        handle = Handle(pooled.id, 1, name, pooled.data, pooled.host)
        try:
            async with asyncio.timeout(END_SECONDS):
                report = await extension.teardown(handle, keep_state=False)
        except TimeoutError as err:
            raise Failed(f"{name} did not end it in {END_SECONDS:g} s.") from err
        if report.leftovers:
            raise Failed("; ".join(report.leftovers))

    def _check_able(self, placed: Sandbox) -> None:
        """Raises `Invalid` for a backend that builds nothing, with those that could."""
        name, able = placed.profile.extension, self._able()
        if name in able:
            return
        others = f" (these do: {', '.join(sorted(able))})" if able else ""
        raise Invalid(
            f"{placed.profile.id} goes to {name}, which builds nothing before it is asked{others}.",
            field="profile",
        )

    def _able(self) -> set[str]:
        known = self._extensions.values()
        return {each.name for each in known if each.capabilities().pools}
