"""What holds a request's body back until it was judged whole: it may have no provider fetch."""

from atoll.domain.broker.fetching import Unreadable, fetching_field
from atoll.domain.broker.passage import Refusal
from atoll.runtime.doors.broker.request import Request

MAX_JUDGED_BYTES = 16 * 1024 * 1024
_ANY_ADDRESS = frozenset({"replicate"})
"""Providers whose models take addresses in fields of any name."""


def refused_fetch(provider: str, name: str) -> Refusal:
    """The refusal of a request that would have `provider` fetch or call by the field `name`."""
    message = f"the owner lets {provider} fetch and call nothing, and {name[:80]!r} asks it to"
    return Refusal(403, "fetch_not_allowed", message, (("field", name[:80]),))


class BodyGate:
    """For one request to `provider`."""

    def __init__(self, provider: str, request: Request) -> None:
        self._provider = provider
        self._headers = {name.lower(): value for name, value in request.headers}
        self._held = bytearray()

    def feed(self, data: bytes) -> bytes | Refusal:
        """Hold a piece."""
        self._held += data
        if len(self._held) > MAX_JUDGED_BYTES:
            message = f"a body that has to be judged may have {MAX_JUDGED_BYTES} bytes"
            return Refusal(413, "too_large", message)
        return b""

    def whole(self) -> bytes | Refusal:
        """All of the body, when it may go out."""
        body, self._held = bytes(self._held), bytearray()
        if self._headers.get("content-encoding", "identity").strip().lower() != "identity":
            return _unreadable("it is packed")
        kind = self._headers.get("content-type", "")
        try:
            found = fetching_field(body, kind, any_address=self._provider in _ANY_ADDRESS)
        except Unreadable as error:
            return _unreadable(str(error))
        return body if found is None else refused_fetch(self._provider, found)


def _unreadable(why: str) -> Refusal:
    message = f"the owner lets this provider fetch nothing, and the body cannot be judged: {why}"
    return Refusal(415, "body_not_judged", message)
