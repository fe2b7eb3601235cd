"""The contract of a WebhookSender.

Subclass `WebhookSenderContract` in a test module, give it the fixtures `sender` and `url` (an
endpoint that accepts everything), and override `scripted` and `received`.
"""

import pytest

from atoll.domain.errors import Invalid, Unavailable
from atoll.domain.webhooks.delivery import Receipt
from atoll.ports.senders.webhooks import WebhookSender

HEADERS = {"webhook-id": "ev_1", "webhook-timestamp": "1", "webhook-signature": "v1,abc"}


class WebhookSenderContract:
    """Contract of a sender: messages arrive whole, answers come back by their status."""

    def scripted(self, sender: WebhookSender, url: str, answer: Receipt | None) -> None:
        """Make the next message to the endpoint be answered so; None: not at all."""
        raise NotImplementedError("override scripted() in your subclass of WebhookSenderContract")

    def received(self, sender: WebhookSender, url: str) -> list[tuple[str, bytes]]:
        """Return the `webhook-id` and the body of each message that was answered so far."""
        raise NotImplementedError("override received() in your subclass of WebhookSenderContract")

    async def test_message_arrives_whole_and_in_order(
        self, sender: WebhookSender, url: str
    ) -> None:
        await sender.check(url)
        bodies = [b"{}", "zwölf\n".encode(), b"x" * 256 * 1024]
        for number, body in enumerate(bodies):
            receipt = await sender.send(url, {**HEADERS, "webhook-id": f"ev_{number}"}, body)
            assert receipt.status == 200
        assert self.received(sender, url) == [
            (f"ev_{number}", body) for number, body in enumerate(bodies)
        ]

    @pytest.mark.parametrize("status", [204, 301, 307, 400, 410, 429, 500, 503])
    async def test_status_comes_back_as_it_is(
        self, sender: WebhookSender, url: str, status: int
    ) -> None:
        self.scripted(sender, url, Receipt(status))
        assert (await sender.send(url, HEADERS, b"{}")).status == status
        assert len(self.received(sender, url)) == 1

    async def test_endpoint_that_does_not_answer_is_unavailable(
        self, sender: WebhookSender, url: str
    ) -> None:
        self.scripted(sender, url, None)
        with pytest.raises(Unavailable):
            await sender.send(url, HEADERS, b"{}")
        assert (await sender.send(url, HEADERS, b"{}")).status == 200

    @pytest.mark.parametrize(
        "url",
        ["", "ftp://hooks.example/", "https://a@hooks.example/", "https:///a", "https://h.example/#a",
         "https://hooks.example/\n", "file:///etc/passwd", "gopher://h.example/", "https://h:0/"],
    )  # fmt: skip
    async def test_url_that_cannot_be_is_invalid(self, sender: WebhookSender, url: str) -> None:
        with pytest.raises(Invalid):
            await sender.check(url)
        with pytest.raises(Invalid):
            await sender.send(url, HEADERS, b"{}")
