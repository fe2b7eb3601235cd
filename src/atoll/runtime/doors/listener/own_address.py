"""A check of addresses against this machine's own, answered by the kernel at every call.

Addresses come and go while a runtime lives, so none is cached.
"""

import socket


def is_own(address: str) -> bool:
    """Return whether the kernel would deliver packets for `address` to this machine itself.

    Then the source that it chooses is the address itself (ip(7), RFC 6724 rule 1). Sends nothing.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            source: str = probe.getsockname()[0]
    except OSError:
        return False  # No route leads there, so nothing will be sent.
    return socket.inet_pton(family, source) == socket.inet_pton(family, address.partition("%")[0])
