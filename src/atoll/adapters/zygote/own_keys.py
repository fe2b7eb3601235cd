"""The model providers for which the installation has a key of its own, as the zygote names them."""

from dataclasses import dataclass, field
from pathlib import Path

from atoll.adapters.zygote.link import ZygoteLink
from atoll.domain.errors import Unavailable
from atoll.wire.zygote import messages as wire

SECONDS = 10.0


@dataclass(slots=True)
class OwnKeys:
    """The names of the tables of `$ATOLL_HOME/keys.toml`, which only the zygote can read."""

    socket: Path
    _link: ZygoteLink = field(init=False)

    def __post_init__(self) -> None:
        self._link = ZygoteLink(self.socket)

    async def providers(self) -> frozenset[str]:
        """Return the names; none while no zygote answers."""
        try:
            answer = await self._link.request(wire.Report(), seconds=SECONDS)
        except Unavailable:
            return frozenset()
        return frozenset(answer.keyed if isinstance(answer, wire.Reported) else ())

    async def close(self) -> None:
        """Close the connection."""
        self._link.close()
