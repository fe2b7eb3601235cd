"""Orders for agents, completed by what their sandbox adds before the runtime receives them."""

import msgspec

from atoll.domain.event import Json
from atoll.domain.sandbox import Sandbox
from atoll.domain.terminal.softlock import Strictness


def read_order(body: bytes) -> dict[str, Json]:
    """The fields of a body the surface has checked."""
    order: dict[str, Json] = msgspec.json.decode(body or b"{}", type=dict)
    return order


def locked(sandbox: Sandbox, order: dict[str, Json], *, strict: bool = False) -> dict[str, Json]:
    """The order with the sandbox's soft lock: an agent may be stricter, never less strict."""
    if strict or sandbox.profile.softlock is Strictness.STRICT:
        return {**order, "softlock": Strictness.STRICT.value}
    return order
