"""The texts that tell a sandbox apart inside: its machine-id, and a number that no other start has.

The number is random, and never the generation of the sandbox's row: a sandbox that wakes keeps that
one, and a program must tell this, too.
"""

import hashlib
from uuid import UUID

MACHINE_ID = "machine-id"
"""The name of its file below /etc, machine-id(5)."""

OWN_RUN = "/run/atoll"
"""The folder inside for what Atoll tells programs. It is mounted whole: a mounted file could be
moved out of the way with its folder, and forged."""

GENERATION = "generation"
"""The name of the file there that changes with each start."""

RANDOM_BYTES = 16
"""The random bytes of a generation, as many as a virtual machine has in its own (vmgenid)."""

_OWN_KIND = b"atoll machine-id\0"


def machine_id_text(sandbox_id: str) -> str:
    """Return /etc/machine-id of a sandbox: 32 hexadecimal digits that are a random UUID by their
    form.

    A plain hash of its id. A key would have to be kept for as long as the sandbox, on each machine
    that it comes to, and hide nothing: nobody is let in for knowing a machine-id, and an id cannot
    be computed from it.
    """
    digest = hashlib.sha256(_OWN_KIND + sandbox_id.encode()).digest()
    return f"{UUID(bytes=digest[:16], version=4).hex}\n"


def generation_text(random: bytes) -> str:
    """Return the text of the file that tells a program of a new start."""
    return f"{random.hex()}\n"
