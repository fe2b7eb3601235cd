"""The options of a route, as a request for a sandbox and its recipe have them."""

from dataclasses import replace

from atoll.domain.profile.demands import MOUNTS, demands_of
from atoll.domain.routes.candidate import COMPOSE_FILE, COMPOSE_REF
from atoll.domain.routes.policy import RouteOptions
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox
from atoll.domain.snapshots.beginning import host_for
from atoll.domain.snapshots.snapshot import Snapshot


def route_options(request: CreateSandbox, wanted: Sandbox) -> RouteOptions:
    """Return what is asked of the route: also to act on every field that is named. What a quota
    adds is nobody's wish."""
    inputs = wanted.inputs
    create = {
        MOUNTS: wanted.mounts,
        COMPOSE_REF: inputs.compose_bundle_ref,
        COMPOSE_FILE: inputs.compose_bundle,
    }
    return replace(request.route, fields=demands_of(wanted.profile, create))


def route_choice(
    request: CreateSandbox, wanted: Sandbox, seed: Snapshot | None
) -> tuple[RouteOptions, str | None]:
    """Return what is asked of the route, and the host: a profile's snapshot is used where it is
    kept. Raises `Conflict` when another host is named."""
    options = route_options(request, wanted)
    if seed is None:
        return options, request.host
    return replace(options, allow=(seed.extension,)), host_for(seed, request.host)
