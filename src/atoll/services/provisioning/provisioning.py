"""Provisioning: the walls of sandboxes, raised, looked at and torn down by their backends.

Knows no state and writes nothing down. What happens behind a wall that stands is the business of
`services.provisioning.steps`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import structlog

from atoll.domain.errors import AtollError, Failed, Invalid, NotFound, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.sandboxes.stimulus import Idle
from atoll.domain.wall.isolation import Isolation, shortfall
from atoll.domain.wall.probe import PROBE, apply_probe, open_network
from atoll.ports import (
    CleanupReport,
    Extension,
    Handle,
    Mount,
    Provision,
    Reachability,
    RuntimeClient,
    StoreUnavailable,
    WorkSaver,
    WorkspacePreparer,
)
from atoll.services.lifecycle.runtimes import SandboxRuntimes
from atoll.services.policies.network_boundary import Registries
from atoll.services.policies.policies import Policies
from atoll.services.provisioning.bring_up import Report
from atoll.services.provisioning.compose_file import read_compose_file
from atoll.services.provisioning.settings import ProvisioningSettings
from atoll.services.scripts import Script, run_inside
from atoll.wire.contract.journal import RestBody, check_health, rest_if_idle
from atoll.wire.words.hosts import HostKind
from atoll.wire.words.sandboxes import Access
from atoll.wire.words.walls import WORKSPACE

TAKE_DOWN_SECONDS = 120.0
"""A backend that hangs must not hold its sandbox for ever."""

REST_ANSWER_SECONDS = 5.0

RAISE_SECONDS = 2400.0
"""For a wall, with everything that a backend fetches and builds for it."""

SAVING_ALONE_SECONDS = 1800
"""Longer than saving a large tree takes, which is one request."""

_LOOK = Script("look at the wall from inside", PROBE, seconds=30.0, unrecorded=True)

_log = structlog.get_logger(__name__)

Ending = Callable[[Sandbox, RuntimeClient], Awaitable[None]]
"""Act for a sandbox before its runtime ends."""


class BackendFailed(Failed):
    """A wall that a backend did not bring up. Nothing of the caller's ran behind it."""


class Provisioning:
    """Walls of sandboxes. Raises whatever the ports raise: `Invalid`, `Unavailable`, `Failed`."""

    def __init__(
        self,
        extensions: Mapping[str, Extension],
        runtimes: SandboxRuntimes,
        *,
        workspaces: WorkspacePreparer,
        saver: WorkSaver,
        policies: Policies,
        registries: Registries,
        settings: ProvisioningSettings,
    ) -> None:
        self._extensions = extensions
        self._policies = policies
        self._registries = registries
        self._required = settings.require_isolation
        self._runtimes = runtimes
        self._workspaces = workspaces
        self._saver = saver

    def extension(self, sandbox: Sandbox) -> Extension:
        """Return the backend of a sandbox. Raises `Failed` when it is not installed any more."""
        extension = self._extensions.get(sandbox.profile.extension)
        if extension is None:
            raise Failed(
                f"Sandbox {sandbox.name} lives in {sandbox.profile.extension}, which this Atoll "
                "does not have: install it again and restart."
            )
        return extension

    async def raise_wall(self, request: Provision, sandbox: Sandbox) -> tuple[Handle, Reachability]:
        """Raise a wall, and look at it from inside where others made it. Whatever a backend fails
        by is `BackendFailed`; a fault of the request passes as `Invalid`."""
        extension = self.extension(sandbox)
        await self._registries.check(sandbox, extension)
        try:
            async with _at_most(RAISE_SECONDS, f"{extension.name} to bring {request.name} up"):
                handle = await extension.provision(request)
                reach = await extension.wait_ready(handle)
                reach = await self._looked_at(extension, reach)
            self._check_wall(reach.isolation)
            if not await self._policies.may_be_open(sandbox):
                _check_network(request.profile, reach.isolation)
        except (StoreUnavailable, Invalid):
            raise
        except AtollError as err:
            raise BackendFailed(err.message, code=err.code, field=err.field) from err
        except Exception as err:
            _log.exception("backend_broke", extension=extension.name, sandbox=request.sandbox_id)
            raise BackendFailed(
                f"{extension.name} broke unexpectedly ({type(err).__name__}); the log says more."
            ) from err
        return handle, reach

    async def _looked_at(self, extension: Extension, reach: Reachability) -> Reachability:
        """Return a wall of another machine with what a process inside found it to be. Our own walls
        say themselves what they lack."""
        able = extension.capabilities()
        if able.host_kind is HostKind.LOCAL and able.closes_network:
            return reach
        seen = await run_inside(self._runtimes.client_at(reach), _LOOK, ())
        # The services of a stack share networks that their Engine keeps to themselves.
        isolation = apply_probe(reach.isolation, seen.out, bridged=able.compose)
        return replace(reach, isolation=isolation)

    def _check_wall(self, isolation: Isolation) -> None:
        """Raises `Failed` before anything of the caller's ran behind a wall not good enough."""
        why = shortfall(isolation, self._required)
        if why:
            raise Failed(
                f"This Atoll requires isolation {self._required}, and this host cannot give it: "
                f"{why}. `atoll doctor` says what is missing."
            )

    def client_at(self, reach: Reachability) -> RuntimeClient:
        """Return the client of the runtime that answers there."""
        return self._runtimes.client_at(reach)

    async def reach_kept(self, sandbox: Sandbox, *, alone_seconds: int) -> Reachability:
        """Bring up the wall around what a sandbox keeps, and nothing else: no agent, no variable
        of the caller's, no folder of the host. Its doors refuse; what may not be shown is masked.
        It ends by itself after `alone_seconds` without a request."""
        extension = self.extension(sandbox)
        mounts = await self._workspaces.mounts_for(sandbox.org_id, sandbox.repos, fetch=False)
        wanted = backend_request(sandbox, mounts, env=(), fresh=False)
        generation = handle_of(sandbox).generation
        await self._registries.check(sandbox, extension)
        alone = replace(
            wanted,
            generation=generation,
            host_mounts=(),
            cwd=WORKSPACE,
            maintenance_seconds=alone_seconds,
            compose_file=await read_compose_file(sandbox, extension, self._workspaces),
        )
        reach = await extension.wait_ready(await extension.provision(alone))
        await self._policies.mask(self.client_at(reach), sandbox)
        return reach

    async def renew(self, sandbox: Sandbox, report: Report, *, ending: Ending) -> None:
        """Save the work in the workspace that is about to go, then drop it; `ending` is called in
        between. Raises `Failed` when it could not be saved: nothing was dropped then."""
        extension = self.extension(sandbox)
        if sandbox.profile.workspace.access is not Access.READ_WRITE:
            # Nothing was made where nothing can be written.
            await ending(sandbox, self._runtimes.client(sandbox))
            await extension.teardown(handle_of(sandbox), keep_state=False)
            return
        report("Saving unpulled and uncommitted work.")
        try:
            client = await self._old_runtime(sandbox, extension)
            await self._saver.save_work(sandbox, client, report)
        except StoreUnavailable:
            raise
        except AtollError as err:
            raise Failed(
                f"The work in {sandbox.name} could not be saved ({err.message}), so its workspace "
                f"was kept. `atoll destroy {sandbox.name} --keep-worktree` takes its files out; "
                "if they do not matter, destroy it and make a new one."
            ) from err
        await ending(sandbox, client)
        report("Dropping the old workspace.")
        await extension.teardown(handle_of(sandbox), keep_state=False)

    async def settle(self, sandbox: Sandbox) -> None:
        """Do the work that may happen after `ready`."""
        if sandbox.profile.workspace.access is Access.READ_WRITE:
            await self._workspaces.settle(sandbox, self._runtimes.client(sandbox))

    async def tear_down(self, sandbox: Sandbox, *, keep_state: bool) -> CleanupReport:
        """Tear the sandbox down. Does nothing when its extension is gone."""
        extension = self._extensions.get(sandbox.profile.extension)
        if extension is None:
            return CleanupReport(leftovers=(_describe_leftover(sandbox),))
        async with _at_most(TAKE_DOWN_SECONDS, f"{extension.name} to end {sandbox.name}"):
            return await extension.teardown(handle_of(sandbox), keep_state=keep_state)

    async def stands(self, sandbox: Sandbox) -> bool:
        """Return whether the backend has an environment of this sandbox that lives."""
        extension = self._extensions.get(sandbox.profile.extension)
        if extension is None:
            return False
        return any(place.sandbox_id == sandbox.id for place in await extension.survey())

    async def idleness(self, sandbox: Sandbox) -> Idle:
        """Ask the runtime how long nothing happened. Once that is as long as the profile allows, it
        begins nothing any more: what is asked of it until it ends has no effect."""
        ttl = sandbox.profile.ttl
        bounds = RestBody(idle_seconds=ttl.idle_reap_seconds, unused_seconds=ttl.idle_stop_seconds)
        return await _read_idle(self._runtimes.client(sandbox), bounds)

    async def _old_runtime(self, sandbox: Sandbox, extension: Extension) -> RuntimeClient:
        """Return the runtime of the generation before, or a maintenance start when it does not
        stand."""
        if sandbox.attachment.address is not None:
            client = self._runtimes.client(sandbox)
            if await _answers(client):
                return client
        attachment = await self.reach_kept(sandbox, alone_seconds=SAVING_ALONE_SECONDS)
        return self.client_at(attachment)


def handle_of(sandbox: Sandbox) -> Handle:
    """Return the handle that the backend knows a sandbox by.

    An interrupted provision left no data of the backend's own; id and generation are enough to
    find what it began."""
    number = standing_generation(sandbox)
    return Handle(
        SandboxId(sandbox.id),
        number,
        sandbox.profile.extension,
        sandbox.attachment.handle,
        sandbox.host,
    )


def backend_request(
    sandbox: Sandbox,
    mounts: tuple[Mount, ...],
    *,
    env: tuple[tuple[str, str], ...],
    fresh: bool,
) -> Provision:
    """Return the request for a sandbox as it is stored."""
    return Provision(
        sandbox_id=sandbox.id,
        generation=sandbox.generation,
        name=sandbox.name,
        profile=sandbox.profile,
        mounts=mounts,
        env=env,
        fresh=fresh,
        seed=sandbox.seed,
        cwd=sandbox.cwd,
        host_mounts=sandbox.mounts,
        host=sandbox.host,
        region=sandbox.region,
    )


def _check_network(profile: Profile, isolation: Isolation) -> None:
    """Raises `Failed` for a wall that cannot keep what its profile denies."""
    why = open_network(isolation)
    if why and profile.network.default == "deny":
        raise Failed(
            f"its network is not closed ({why}), and {profile.id} denies what no door leads to. "
            "`--accept-open-network` agrees to that"
        )


def _describe_leftover(sandbox: Sandbox) -> str:
    """Return the sentence about what cannot be removed while its extension is gone."""
    parts = [f"sandbox {sandbox.id}", f"generation {standing_generation(sandbox)}"]
    parts += [f"on host {sandbox.host}"] if sandbox.host else []
    parts += [f"at {sandbox.attachment.address}"] if sandbox.attachment.address else []
    parts += [f"{name} {value[:80]}" for name, value in sandbox.attachment.handle[:8]]
    return (
        f"{sandbox.profile.extension} is not installed: nothing was removed. Its processes and its "
        f"workspace may still stand ({', '.join(parts)})."
    )


def standing_generation(sandbox: Sandbox) -> int:
    """Return the generation of the workspace that there is: before a renewal the one before."""
    return sandbox.generation - 1 if sandbox.renewing else sandbox.generation


@asynccontextmanager
async def _at_most(seconds: float, what: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as err:
        raise Failed(f"Waited {seconds:g} s for {what}: look at the host and try again.") from err


async def _read_idle(client: RuntimeClient, bounds: RestBody) -> Idle:
    try:
        async with asyncio.timeout(REST_ANSWER_SECONDS):
            health = await client.call(rest_if_idle(bounds))
    except TimeoutError as error:
        raise Unavailable("The runtime does not say how idle it is.") from error
    except NotFound:  # a runtime of an earlier version
        health = await client.call(check_health())
    # A runtime of an earlier version knows one figure only.
    unused = health.idle_seconds if health.unused_seconds is None else health.unused_seconds
    return Idle(health.idle_seconds, unused)


async def _answers(client: RuntimeClient) -> bool:
    try:
        await client.call(check_health())
    except AtollError:
        return False
    return True
