"""Parts of a start request that every wall of the zygote shares.

What only one wall knows (roots, seccomp) stays with that wall: walls never import each other.
"""

import re

import msgspec

from atoll.domain.profile.profile import Profile
from atoll.domain.size import MIB
from atoll.domain.tools.rule import chosen_setup
from atoll.ports.extension import Provision
from atoll.wire.zygote import messages as wire

MAX_HOSTNAME = 63
"""The characters of one label of a host name (RFC 1123)."""

_NOT_IN_HOSTNAMES = re.compile(r"[^A-Za-z0-9]+")


def hostname(name: str) -> str:
    """Return a sandbox's name as a host name (RFC 1123): letters, digits and hyphens."""
    words = _NOT_IN_HOSTNAMES.sub("-", name).strip("-")
    return words[:MAX_HOSTNAME].strip("-") or "sandbox"


def limits_of(profile: Profile, *, bounded_elsewhere: bool = False) -> wire.Limits:
    """Return what a profile bounds; where it says nothing, the zygote's defaults hold. Memory,
    processors and processes may be `bounded_elsewhere`."""
    resources, size = profile.resources, profile.resources.workspace_mb
    limits = wire.Limits(
        ptys=resources.ptys,
        workspace_bytes=None if size is None else size * MIB,
        files=resources.files,
        netlink=profile.network.netlink,
    )
    if bounded_elsewhere:
        return limits
    return msgspec.structs.replace(
        limits,
        memory_bytes=None if resources.memory_mb is None else resources.memory_mb * MIB,
        cpu_millis=None if resources.cpu is None else int(resources.cpu * 1000),
        pids=resources.pids,
    )


def agents_of(
    request: Provision, known: tuple[wire.Agent, ...], *, own_etc: bool = True
) -> tuple[wire.Agent, ...]:
    """Return the agents that the sandbox's runtime may start: the allowed ones of `known`, and
    none in a maintenance start. They learn of tools unless the profile says otherwise, each in the
    one way that `mcp` then has. With `own_etc` their hooks stand below /etc, and in no argument."""
    if request.maintenance_seconds is not None:
        return ()
    found = allowed_agents(request, known)
    tools = request.profile.mcp
    return tuple(
        msgspec.structs.replace(
            one,
            mcp=chosen_setup(tools, one.mcp, one.mcp_stdio),
            mcp_stdio=None,
            watch_argv=() if own_etc else one.watch_argv,
        )
        for one in found
    )


def allowed_agents(request: Provision, known: tuple[wire.Agent, ...]) -> tuple[wire.Agent, ...]:
    """Return the allowed ones of `known`, and of the agents that were added."""
    added = (msgspec.convert(one, wire.Agent, from_attributes=True) for one in request.added)
    every = (*known, *added)
    return tuple(one for one in every if request.agents is None or one.name in request.agents)


def host_mounts_of(request: Provision) -> tuple[wire.HostMount, ...]:
    """Return the request's host directories as the zygote's messages spell them."""
    return tuple(
        wire.HostMount(one.source, one.target, one.writable, one.grant, one.private)
        for one in request.host_mounts
    )
