"""What stands between a client and a vendor: it resets connections, or lets them fall silent."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.peers.far.silent_network import SilentNetwork, silent_network


class Proxy:
    """A network in front of a port of this machine, on a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._stands = threading.Event()
        self._network: SilentNetwork

    @property
    def url(self) -> str:
        return self._network.url

    def reset(self) -> None:
        """Reset every connection there is, whether or not bytes pass on it."""
        self._loop.call_soon_threadsafe(self._network.reset)

    def silence(self) -> None:
        """Carry no byte more on the connections there are. Nobody is told; new ones work."""
        self._network.cut()
        self._network.mend()

    def run(self, port: int) -> None:
        """Serve until `end`."""
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(port))

    def wait(self) -> None:
        """Wait until it serves."""
        self._stands.wait()

    def end(self) -> None:
        """End every connection."""
        self._loop.call_soon_threadsafe(self._over.set)

    async def _serve(self, port: int) -> None:
        async with silent_network(port) as self._network:
            self._stands.set()
            await self._over.wait()


@contextmanager
def proxied(url: str) -> Iterator[Proxy]:
    """Yield a proxy in front of a server of this machine."""
    proxy = Proxy()
    thread = threading.Thread(target=proxy.run, args=(int(url.rpartition(":")[2]),))
    thread.start()
    proxy.wait()
    try:
        yield proxy
    finally:
        proxy.end()
        thread.join()
