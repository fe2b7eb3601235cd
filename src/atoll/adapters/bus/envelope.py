"""The JSON of an event for readers outside: the envelope of the API, with `TenantID` besides."""

import msgspec

from atoll.domain.event import Event, envelope_of

_encoder = msgspec.json.Encoder()


def envelope(event: Event, max_bytes: int) -> bytes:
    """Return the message that holds an event.

    A payload that would make it larger than `max_bytes` is left out: it is null, and
    `payload_bytes` says how large it is. The API has it.
    """
    fields = envelope_of(event) | {"TenantID": event.org_id}
    whole = _encoder.encode(fields)
    if len(whole) <= max_bytes:
        return whole
    size = len(_encoder.encode(fields["payload"]))
    return _encoder.encode(fields | {"payload": None, "payload_bytes": size})
