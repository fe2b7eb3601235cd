"""Ports of a sandbox's loopback on which something listens."""

import msgspec

from atoll.wire.contract.call import RuntimeCall, json_call


class PortList(msgspec.Struct, frozen=True):
    """The ports, in order."""

    ports: tuple[int, ...]


def list_ports() -> RuntimeCall[PortList]:
    """List the ports on which something listens."""
    return json_call("GET", "/ports", PortList)
