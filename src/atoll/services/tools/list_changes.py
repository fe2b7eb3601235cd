"""Changes of lists of tools: when these may have changed for a caller.

What a caller may call follows from its role and from settings of its organization. A change of
either is an event in the stream of the organization, so nobody has to look at intervals.
"""

from collections.abc import AsyncIterator

from atoll.domain.people.principal import Principal
from atoll.services.ground import Ground
from atoll.services.people.memberships import Memberships
from atoll.services.people.org_events import org_stream


class ListChanges:
    """Use case of clients that want to learn that their list of tools has changed."""

    def __init__(self, ground: Ground, memberships: Memberships) -> None:
        self._ground = ground
        self._memberships = memberships

    async def of(self, caller: Principal) -> AsyncIterator[None]:
        """Yield at once, and whenever the list of a caller may have changed. Never returns."""
        with self._ground.bus.listen(org_stream(caller.org_id)) as listener:
            yield
            while True:
                await listener.wait()
                # The role as it was a moment ago is remembered, also after another replica set it.
                self._memberships.forget(caller.org_id, caller.id)
                yield
