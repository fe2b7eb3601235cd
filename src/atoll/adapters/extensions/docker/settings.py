"""Limits of builds by the daemon: the owner's settings, and no rule about contents."""

from typing import Annotated

import msgspec


class BuildRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The limits of a build. `bases` are patterns of the images it may build on (`debian:*`);
    None allows all. `network` lets its commands reach what the daemon's own network reaches."""

    memory_mb: Annotated[int, msgspec.Meta(ge=16, le=2**20)] = 2048
    cpu: Annotated[float, msgspec.Meta(ge=0.1, le=1024)] = 2.0
    seconds: Annotated[int, msgspec.Meta(ge=1, le=86400)] = 1800
    context_mb: Annotated[int, msgspec.Meta(ge=1, le=65536)] = 256
    network: bool = False
    bases: tuple[str, ...] | None = None


USUAL_RULES = BuildRules()
