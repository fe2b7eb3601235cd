"""Ports of a sandbox's loopback on which something listens, and connections to sockets."""

from typing import Final

import msgspec

from atoll.wire.contract.call import RuntimeCall, json_call

SOCKETS_PATH: Final = "/sockets"
CONNECTIONS_PATH: Final = "/connections"
"""Beneath it the ports: a connection to one, refused where nobody listens."""

END: Final = "end"
"""Text frame of a client on a connection: it sends no more bytes."""


class PortList(msgspec.Struct, frozen=True):
    """The ports, in order."""

    ports: tuple[int, ...]


def list_ports() -> RuntimeCall[PortList]:
    """List the ports on which something listens."""
    return json_call("GET", "/ports", PortList)
