"""The metadata of a sandbox: what other tools read about it, in their terms.

The API shows `metadata_of`; the file beside the sandbox's state holds `metadata_document`. Both are
made from the sandbox each time, so no second record can differ from it.
"""

from datetime import UTC, datetime

from atoll.domain.event import Json
from atoll.domain.sandboxes.sandbox import Sandbox


def metadata_of(sandbox: Sandbox) -> dict[str, Json]:
    """Return the first repository, the network and the copied files."""
    first = sandbox.repos[0] if sandbox.repos else None
    return {
        "repo_url": first.repo_url if first else None,
        "branch": first.branch if first else None,
        "from_branch": (first.from_branch or first.began_from) if first else None,
        "network_mode": sandbox.profile.network.mode.value,
        # No person's SSH agent is shared; who logs in does so at the gateway.
        "sync_ssh": 0,
        "ssh_mode": "gateway",
        "mounts": [str(mount) for mount in sandbox.mounts],
        "copies": list(sandbox.copies),
    }


def metadata_document(sandbox: Sandbox) -> dict[str, Json]:
    """Return the metadata with the sandbox's state and times."""
    return {
        "sandbox_id": sandbox.id,
        "name": sandbox.name,
        "state": sandbox.state.value,
        "generation": sandbox.generation,
        "reason": sandbox.reason,
        "profile": sandbox.profile.id,
        "profile_version": sandbox.profile.version,
        "extension": sandbox.profile.extension,
        "agent": sandbox.agent,
        "scope": sandbox.scope.value,
        "owner": sandbox.owner,
        "org_id": sandbox.org_id,
        "created_at": _instant(sandbox.created_at),
        "expires_at": _instant(sandbox.expires_at),
        "max_expires_at": _instant(sandbox.max_expires_at),
        "retained_until": _instant(sandbox.retained_until),
        **metadata_of(sandbox),
    }


def _instant(at: datetime | None) -> str | None:
    if at is None:
        return None
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
