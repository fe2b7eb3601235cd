"""The events of a worker's stream, and the pieces of text between them.

What the agent said is text there, and its own JSON: `read_json` reads it.
"""

import json
from collections.abc import Mapping
from typing import Final

from atoll.client import fields
from atoll.client.fields import Json, Shape
from atoll.domain.errors import Failed

DELTA: Final = "worker.delta"
"""The name of a frame that is no event: a piece of text, without an id."""


class WorkerEvent(Shape):
    """An event of a worker's stream; `seq` counts from 1, without a gap."""

    worker_id = fields.text()
    seq = fields.number()
    event_type = fields.text()
    event_version = fields.number()
    at = fields.text()

    @property
    def said(self) -> Mapping[str, Json]:
        """Return the one member of the payload, which is named as the event's type."""
        payload = self.value.get("payload")
        members = list(payload.values()) if isinstance(payload, Mapping) else []
        return members[0] if members and isinstance(members[0], Mapping) else {}

    @property
    def method(self) -> str:
        """Return the method of a message of the agent; empty for every other event."""
        return str(self.said.get("method", "")) if self.event_type == "worker.event" else ""

    @property
    def params(self) -> Json:
        """Return the params of a message of the agent. Raises `Failed` for what is not JSON."""
        text = self.said.get("params")
        return read_json(text) if isinstance(text, str) else None

    @property
    def question(self) -> str:
        """Return the id by which this question of the agent is answered; empty where it is none."""
        return str(self.said.get("server_request_id") or "")


class WorkerDelta(Shape):
    """A piece of text that the agent says, live only: its completed item replaces it."""

    worker_id = fields.text()
    method = fields.text()
    thread_id = fields.text()

    @property
    def params(self) -> Json:
        """Return the params of the message. Raises `Failed` for what is not JSON."""
        text = self.value.get("params")
        return read_json(text) if isinstance(text, str) else None

    @property
    def text(self) -> str:
        """Return the piece itself, empty where the agent sent none. Raises as `params`."""
        return self._param("delta")

    @property
    def item_id(self) -> str:
        """Return the item of the piece, empty where the agent named none. Raises as `params`."""
        return self._param("itemId")

    def _param(self, name: str) -> str:
        params = self.params
        param = params.get(name) if isinstance(params, Mapping) else None
        return param if isinstance(param, str) else ""


def read_frame(kind: str, data: bytes) -> WorkerEvent | WorkerDelta:
    """Return a frame of the stream, by the name that it has. Raises `Failed`."""
    document = read_json(data.decode("utf-8", "replace"))
    return WorkerDelta.read(document) if kind == DELTA else WorkerEvent.read(document)


def read_json(text: str) -> Json:
    """Return the JSON of an agent. Raises `Failed` for what is none."""
    try:
        document: Json = json.loads(text)
    except ValueError as problem:
        raise Failed("the agent's answer is not JSON: it is kept as it came") from problem
    return document
