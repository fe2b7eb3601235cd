"""The JSON of an event for readers outside: the envelope of the API, with `TenantID` besides."""

from datetime import UTC

import msgspec

from atoll.domain.event import Event, Json

_encoder = msgspec.json.Encoder()


def envelope(event: Event, max_bytes: int) -> bytes:
    """Return the message that holds an event.

    A payload that would make it larger than `max_bytes` is left out: it is null, and
    `payload_bytes` says how large it is. The API has it.
    """
    whole = _encoder.encode(_fields(event) | {"payload": dict(event.payload)})
    if len(whole) <= max_bytes:
        return whole
    size = len(_encoder.encode(dict(event.payload)))
    return _encoder.encode(_fields(event) | {"payload": None, "payload_bytes": size})


def _fields(event: Event) -> dict[str, Json]:
    at = event.at.astimezone(UTC)
    return {
        "id": event.id,
        "position": event.position,
        "stream": event.stream,
        "seq": event.seq,
        "event_type": event.event_type,
        "event_version": event.event_version,
        "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "org_id": event.org_id,
        "TenantID": event.org_id,
        "actor": {"kind": event.actor_kind, "id": event.actor_id},
        "reason": event.reason,
    }
