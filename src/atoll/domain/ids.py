"""Identifiers that several nouns name, as distinct types; the id of one noun stands in its file.

Randomness comes in as bytes; nothing here generates it.
"""

import base64
from typing import NewType

SandboxId = NewType("SandboxId", str)
TerminalId = NewType("TerminalId", str)
RecordingId = NewType("RecordingId", str)
ExecId = NewType("ExecId", str)
EventId = NewType("EventId", str)
SecretId = NewType("SecretId", str)
ShareId = NewType("ShareId", str)
DashboardId = NewType("DashboardId", str)
GuestId = NewType("GuestId", str)
SnapshotId = NewType("SnapshotId", str)
RouteId = NewType("RouteId", str)
DesktopId = NewType("DesktopId", str)
WorkerKey = NewType("WorkerKey", str)
"""Our own id of a worker: people choose a `worker_id`, and two may choose the same."""
OrgId = NewType("OrgId", str)
PrincipalId = NewType("PrincipalId", str)

PERSONAL_ORG = OrgId("personal")

GUESTS_ORG = OrgId("guests")
"""The organization of everybody who came by a share link; its members own nothing."""

NO_ORG = OrgId("nobody")
"""The organization of a person who has logged in and is no member yet; it owns nothing."""

EVERY_MEMBER = PrincipalId("")
"""The owner of an event that is the organization's: all its members may read it."""

SANDBOX_ID = "sb_"
"""The beginning of the ids of sandboxes."""

ID_ENTROPY_BYTES = 10


def spell(prefix: str, entropy: bytes) -> str:
    """Return `prefix_` and the entropy (10 bytes, 80 bits) in lower-case base32: `sb_3k7q…`."""
    if len(entropy) < ID_ENTROPY_BYTES:
        raise ValueError(f"an id needs {ID_ENTROPY_BYTES} random bytes, got {len(entropy)}")
    return f"{prefix}_{base64.b32encode(entropy).decode().rstrip('=').lower()}"
