"""Addresses that a fetch may dial: resolved once, checked, tested, and then fixed.

A name may resolve to anything, and differently the second time; so git dials exactly the address
that was checked here (threats, facts 8 and attempt 119).
"""

import asyncio
import contextlib
import socket

from atoll.domain.errors import Forbidden, Unavailable
from atoll.domain.network.address import is_loopback, is_public
from atoll.domain.repository.repository import Remote

RESOLVE_SECONDS = 10.0
CONNECT_SECONDS = 5.0
MAX_TRIED = 4


async def dial(remote: Remote, *, allow_loopback: bool = False) -> str:
    """Return curl's `host:port:address` for the first allowed address of `remote` that accepts a
    connection.

    Raises `Forbidden` when one of its addresses is not public (a name that mixes both is a trick),
    `Unavailable` when it does not resolve or answer.
    """
    addresses = await _resolve(remote)
    for address in addresses:
        if not (is_public(address) or (allow_loopback and is_loopback(address))):
            raise Forbidden(
                f"{remote.host} leads to {address}, which is not a public address: repositories "
                "there cannot be fetched for you. Clone it yourself and give its path."
            )
    for address in addresses[:MAX_TRIED]:
        if await _accepts(address, remote.port):
            host = f"[{address}]" if ":" in address else address
            return f"{remote.host}:{remote.port}:{host}"
    raise Unavailable(f"{remote.host} does not answer on port {remote.port}: try again later.")


async def _resolve(remote: Remote) -> tuple[str, ...]:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            answers = await loop.getaddrinfo(remote.host, remote.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError) as error:
        raise Unavailable(
            f"{remote.host} cannot be resolved: check the name and the network."
        ) from error
    return tuple(dict.fromkeys(str(entry[4][0]).split("%")[0] for entry in answers))


async def _accepts(address: str, port: int) -> bool:
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(address, port)
        writer.close()
        return True
    return False
