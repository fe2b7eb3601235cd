"""The health check of a runtime: one small HTTP request on its unix socket."""

import asyncio

from atoll.domain.errors import Failed, Unavailable

_REQUEST = b"GET /health HTTP/1.1\r\nHost: runtime\r\nConnection: close\r\n\r\n"
_MAX_HEAD_BYTES = 256


async def check_health(path: str, *, seconds: float) -> None:
    """Wait until the runtime answers 200. Raises `Unavailable` when nobody listens or no answer
    comes within `seconds`, `Failed` when it answers something else."""
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                writer.write(_REQUEST)
                await writer.drain()
                line = (await reader.readline())[:_MAX_HEAD_BYTES]
            finally:
                writer.close()
    except TimeoutError as err:
        raise Unavailable(f"the runtime at {path} did not answer within {seconds:.0f} s") from err
    except (OSError, ValueError) as err:
        raise Unavailable(f"the runtime at {path} cannot be reached: {err}") from err
    if b" 200 " not in line:
        raise Failed(f"the runtime at {path} is not well: it answered {line[:80]!r}")
