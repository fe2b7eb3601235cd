"""The session of a client with a handshake, which is begun anew when the server has lost it.

The client does not notice: the same handshake is sent again, and what it watched is watched again.
What changed meanwhile is unknown, so it is told of everything that it watches.
"""

import json
from threading import Lock
from typing import Final

from atoll.client.bridge.endpoint import Endpoint, McpAnswer, OpenRequest
from atoll.client.bridge.messages import BadMessage, Message, one_line, read_message
from atoll.client.fields import Json
from atoll.domain.errors import AtollError, Unavailable

SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"
LOST: Final = 404
"""The status by which a server says that it knows a session no more."""

_OK: Final = 200
_KEPT: Final = ("protocolVersion", "capabilities")
"""The members of the answer to a handshake that a client goes by."""


class HandshakeSession:
    """The session of one client, shared by its threads."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._renewing = Lock()
        self._hello: Message | None = None
        self._handshake: dict[str, Json] = {}
        self._watched: dict[str, None] = {}
        self.id = ""

    def headers(self) -> dict[str, str]:
        """Return the headers of a request in it; none before the handshake."""
        version = self._handshake.get("protocolVersion")
        headers = {"MCP-Protocol-Version": version} if isinstance(version, str) else {}
        return {**headers, "Mcp-Session-Id": self.id} if self.id else headers

    def begin(self, hello: Message, answer: McpAnswer, result: Message) -> None:
        """Take the server's answer to the handshake of a client, which may be its second."""
        handshake = result.value.get("result")
        if isinstance(handshake, dict):
            self._hello, self._handshake, self.id = hello, dict(handshake), answer.session
            self._watched.clear()

    def note(self, asked: Message, answered: Message) -> None:
        """Note what is watched by a request that was answered."""
        if "result" not in answered.value:
            return
        if asked.method == SUBSCRIBE:
            self._watched[asked.names("uri")] = None
        elif asked.method == UNSUBSCRIBE:
            self._watched.pop(asked.names("uri"), None)

    def renew(self, gone: str, pending: OpenRequest) -> list[bytes]:
        """Begin anew after the session of an id is gone, unless another thread has. Returns lines
        for the client. Raises `Unavailable` where it would notice, `RequestCancelled`, and what
        `Endpoint.post` raises."""
        with self._renewing:
            if self.id != gone or self._hello is None:
                return []
            answer = self._endpoint.post(self._hello, {}, pending)
            try:
                self._take(answer)
            finally:
                answer.close()
            self._say(_notification("notifications/initialized", {}), pending)
            watched = list(self._watched)
            for number, uri in enumerate(watched):
                self._say(_request(f"atoll-{number}", SUBSCRIBE, {"uri": uri}), pending)
        changed = "notifications/resources/updated"
        return [_notification(changed, {"uri": uri}).body for uri in watched]

    def _take(self, answer: McpAnswer) -> None:
        if answer.status != _OK:
            refused = answer.refusal()
            if isinstance(refused, AtollError):
                raise refused
            raise _gone_error("it refused another one")
        try:
            handshake = one_line(_first_message(answer)).value.get("result")
        except BadMessage as error:
            raise _gone_error("it gave no answer that can be read") from error
        members = handshake if isinstance(handshake, dict) else {}
        if any(members.get(name) != self._handshake.get(name) for name in _KEPT):
            raise _gone_error("it is another version now")
        self.id = answer.session

    def _say(self, message: Message, pending: OpenRequest) -> None:
        answer = self._endpoint.post(message, self.headers(), pending)
        try:
            answer.whole()
        finally:
            answer.close()

    def end(self) -> None:
        """Tell the server that the session is over, if it is there."""
        if not self.id:
            return
        try:
            self._endpoint.end(self.headers())
        except AtollError:
            # It ends by itself.
            return


def _first_message(answer: McpAnswer) -> bytes:
    """Return the first message of an answer, whether it is a stream or not."""
    if not answer.is_stream:
        return answer.whole()
    return next((event.data for event in answer.events(silence=60.0)), b"")


def _gone_error(why: str) -> Unavailable:
    text = f"the server has lost the session, and {why}: start this MCP server again"
    return Unavailable(text, code="session_lost")


def _request(request_id: str, method: str, params: dict[str, Json]) -> Message:
    value = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    return read_message(json.dumps(value).encode())


def _notification(method: str, params: dict[str, Json]) -> Message:
    value = {"jsonrpc": "2.0", "method": method, "params": params}
    return read_message(json.dumps(value).encode())
