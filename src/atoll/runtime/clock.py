"""The wall clock, as the contract spells it."""

from datetime import UTC, datetime


def timestamp() -> str:
    """Return the present as RFC 3339 UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
