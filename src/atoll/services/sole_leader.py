"""The leadership of a control plane that shares its store with no other one: it always leads."""

from atoll.ports import Transaction
from atoll.ports.leadership import Act


class SoleLeader:
    """The `ports.leadership.Leadership` without an election."""

    shared = False
    leads = True

    async def run(self, act: Act) -> None:
        """See the port."""
        await act()

    async def check(self, rows: Transaction) -> None:
        """See the port."""
