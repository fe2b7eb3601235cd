"""The inbox over the API: everything that waits for a person."""

from atoll.client.bodies import InboxAnswerBody
from atoll.client.status_shapes import InboxList
from atoll.client.transport import Call, Transport, at, get, post


class Inbox:
    """Everything that waits for a person."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> InboxList:
        """Return what waits, the longest waiting first."""
        return self._transport.read_all(InboxList, get("inbox"))

    def answer(self, item_id: str, body: InboxAnswerBody) -> None:
        """Answer an item as it was shown."""
        self._transport.call(post("inbox", item_id, "answer", value=body))

    def dismiss(self, item_id: str) -> None:
        """Have a mention or a todo wait no more."""
        self._transport.call(Call("DELETE", at("inbox", item_id)))
