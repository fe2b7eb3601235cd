"""The exchange of this replica with the others, and with readers outside: one thing to run, and one
place that says what it lacks."""

from collections.abc import Callable

from atoll.ports.bus import LiveChannels
from atoll.services.journals.log_watch import LogWatch
from atoll.services.journals.outbox import Outbox


class Replication:
    """The watch over the log. The leader runs `outbox`. `live` are the channels for what nobody
    stores; `unheard` says why other replicas are not heard, None while they are."""

    def __init__(
        self,
        live: LiveChannels,
        watch: LogWatch,
        outbox: Outbox,
        *,
        unheard: Callable[[], str | None],
    ) -> None:
        self.live = live
        self.outbox = outbox
        self._watch = watch
        self._unheard = unheard

    @property
    def troubles(self) -> tuple[str, ...]:
        """Return what does not work now. Everything else goes on without it."""
        reasons = (("bus", self._unheard()), ("outbox", self.outbox.trouble))
        return tuple(f"{name}: {reason}" for name, reason in reasons if reason is not None)

    async def run(self) -> None:
        """Run the watch; returns at once where there is nobody else."""
        await self._watch.run()
