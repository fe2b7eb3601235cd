"""The bus of a home, looked at from the machine: whether it is reached, and what its stream holds.

Says nothing where `bus_url` is not set. Changes nothing: the stream is made by the control plane.
"""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from atoll.adapters.bus.settings import BusSettings
from atoll.domain.errors import AtollError
from atoll.ports.host import Finding
from atoll.wiring.control.settings import read_settings


def findings(home: Path) -> Iterator[Finding]:
    """Report on NATS and its stream."""
    try:
        own = read_settings(home, os.environ, {}).bus
    except AtollError:
        return  # said already
    if own.bus_url is None:
        return
    try:
        text = asyncio.run(_look(own))
    except ImportError:
        yield Finding("bus", "fail", "its library is missing", "`pip install 'atoll[nats]'`")
        return
    except AtollError as error:
        yield Finding(
            "bus",
            "fail",
            f"{own.shown}: {error.message}",
            "Sandboxes run on, and events wait in the log. See docs/program/bus.md.",
        )
        return
    yield Finding("bus", "ok", text)
    if own.open_hosts:
        yield Finding(
            "bus encryption",
            "warn",
            f"everybody's events go to {', '.join(own.open_hosts)} in the clear, passwords too",
            "Use tls:// in bus_url, or bus_tls_ca.",
        )


async def _look(own: BusSettings) -> str:
    """Return what there is. Raises `Unavailable` or `Failed`, and `ImportError`."""
    from atoll.adapters.bus.jetstream import describe_bus
    from atoll.adapters.bus.nats_link import NatsLink

    connection = await NatsLink(own).open()
    try:
        return f"{own.shown}: {await describe_bus(connection, own)}"
    finally:
        await connection.close()
