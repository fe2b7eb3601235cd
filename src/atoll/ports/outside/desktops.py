"""The desktops that people linked: their own machines, hosts for their sandboxes alone."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from atoll.domain.hosts.host import Host
from atoll.domain.ids import OrgId, PrincipalId

LinkedDesktops: TypeAlias = Callable[[OrgId, PrincipalId], Awaitable[Sequence[Host]]]
"""The machines that a person has linked by now, as hosts of the kind `desktop`. One that went away
is not among them. Raises `Unavailable`."""


async def nobody_linked(_org_id: OrgId, _owner: PrincipalId) -> Sequence[Host]:
    """Return no desktop."""
    return ()
