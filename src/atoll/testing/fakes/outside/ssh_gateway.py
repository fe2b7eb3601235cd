"""A SSH gateway that is not there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from atoll.domain.errors import Unavailable
from atoll.ports.outside.ssh_gateway import Dialled


class AbsentSshGateway:
    """The `SshGateway` of a home without one."""

    wanted = ""
    address = ""

    @asynccontextmanager
    async def dial(self, sandbox_id: str, peer: str) -> AsyncIterator[Dialled]:
        """Refuse everybody."""
        del sandbox_id, peer
        raise Unavailable("there is no SSH gateway here")
        yield

    async def run(self) -> None:
        """Do nothing."""
