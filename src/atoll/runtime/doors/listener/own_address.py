"""Whether an address is one of this machine's interfaces, asked of the kernel at every dialling.

Addresses come and go while a runtime lives, so none is remembered.
"""

import socket


def is_own(address: str) -> bool:
    """Whether the kernel would deliver to this machine itself what is sent there: the source it
    then chooses is the address itself (ip(7), RFC 6724 rule 1). Sends nothing."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect((address, 9))
            mine: str = asking.getsockname()[0]
    except OSError:
        return False  # There is no way to it, so nothing will be sent there.
    return socket.inet_pton(family, mine) == socket.inet_pton(family, address.partition("%")[0])
