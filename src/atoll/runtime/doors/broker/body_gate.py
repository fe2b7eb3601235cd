"""A gate that holds a request's body until all of it was checked.

The body goes out only when it makes the provider fetch no address.
"""

from atoll.domain.broker.fetching import Unreadable, fetching_field
from atoll.domain.broker.passage import Refusal
from atoll.runtime.doors.broker.request import BrokerRequest

MAX_JUDGED_BYTES = 16 * 1024 * 1024
_ANY_ADDRESS = frozenset({"replicate"})
"""Providers whose models accept addresses in fields of any name."""


def refuse_fetch(provider: str, name: str) -> Refusal:
    """Return the refusal of a request whose field `name` makes `provider` fetch or call."""
    message = f"the owner lets {provider} fetch and call nothing, and {name[:80]!r} asks it to"
    return Refusal(403, "fetch_not_allowed", message, (("field", name[:80]),))


class BodyGate:
    """The gate of one request to `provider`."""

    def __init__(self, provider: str, request: BrokerRequest) -> None:
        self._provider = provider
        self._headers = {name.lower(): value for name, value in request.headers}
        self._held = bytearray()

    def feed(self, data: bytes) -> bytes | Refusal:
        """Hold a piece of the body. Returns a refusal when it is too long to be checked."""
        self._held += data
        if len(self._held) > MAX_JUDGED_BYTES:
            message = f"a body that has to be judged may have {MAX_JUDGED_BYTES} bytes"
            return Refusal(413, "too_large", message)
        return b""

    def finish(self) -> bytes | Refusal:
        """Return the whole body, or why it may not go out."""
        body, self._held = bytes(self._held), bytearray()
        if self._headers.get("content-encoding", "identity").strip().lower() != "identity":
            return _refuse_unreadable("it is compressed")
        kind = self._headers.get("content-type", "")
        try:
            field = fetching_field(body, kind, any_address=self._provider in _ANY_ADDRESS)
        except Unreadable as error:
            return _refuse_unreadable(str(error))
        return body if field is None else refuse_fetch(self._provider, field)


def _refuse_unreadable(why: str) -> Refusal:
    message = f"the owner lets this provider fetch nothing, and the body cannot be judged: {why}"
    return Refusal(415, "body_not_judged", message)
