"""Bounds of networks at a sandbox that stands: what was agreed to, and what holds by now."""

from dataclasses import replace
from typing import Any, cast

from atoll.domain.ids import PrincipalId
from atoll.domain.network.bounds import UNBOUNDED, NetworkBounds
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.routes.policy import RouteOptions
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.policies.policies import Policies
from atoll.services.policies.settings import PolicySettings
from atoll.wire.words.networks import NetworkMode
from tests.services.scene import Scene, scene

OPEN = CreateSandbox(
    "bare", network_mode=NetworkMode.FULL, route=RouteOptions(accept_open_network=True)
)


async def _in_force(s: Scene, sandbox: Sandbox) -> tuple[NetworkMode, bool]:
    """The mode that holds, and whether its wall may be one that cannot close its network."""
    ground = Ground(s.store, s.bus, s.clock, Identifiers())
    policies = Policies(ground, cast(Any, None), vault=s.vault, settings=PolicySettings())
    composed = await policies.compose(sandbox)
    return NetworkMode(composed.policy.network.mode), await policies.may_be_open(sandbox)


async def test_stored_sandbox_has_what_the_bounds_leave_by_now() -> None:
    async with scene(run=False) as s:
        made = await s.sandboxes.create(LOCAL_PERSON, OPEN)
        assert await _in_force(s, made) == (NetworkMode.FULL, True)
        given = replace(made, owner=PrincipalId("mel"))
        assert await _in_force(s, given) == (NetworkMode.LIMITED, False)
        for bounds, left in (
            (UNBOUNDED, (NetworkMode.FULL, True)),
            (NetworkBounds(full=True), (NetworkMode.FULL, False)),
            (NetworkBounds(open_network=True), (NetworkMode.LIMITED, True)),
        ):
            async with s.store.begin() as rows:
                await rows.network_bounds.put(made.org_id, bounds)
            assert await _in_force(s, made) == left
