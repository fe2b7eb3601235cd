"""The contract of a PushSender.

Subclass `PushSenderContract` in a test module, give it the fixtures `push` and `browser` (a browser
that is subscribed at a push service), and override `scripted` and `received`.
"""

import base64

import pytest

from atoll.domain.errors import AtollError, Failed, Invalid, NotFound, Unavailable
from atoll.domain.people.push import PushTarget
from atoll.ports.senders.push import PushSender


class PushSenderContract:
    """Contract of a sender: messages come out whole, refusals by their meaning."""

    def scripted(self, push: PushSender, browser: PushTarget, failure: type[AtollError]) -> None:
        """Make the next message to the browser fail so."""
        raise NotImplementedError("override scripted() in your subclass of PushSenderContract")

    def received(self, push: PushSender, browser: PushTarget) -> list[bytes]:
        """Return what the browser read so far."""
        raise NotImplementedError("override received() in your subclass of PushSenderContract")

    async def test_public_key_is_a_point_of_p256_and_stays(self, push: PushSender) -> None:
        key = await push.public_key()
        assert len(base64.urlsafe_b64decode(key + "=")) == 65
        assert await push.public_key() == key

    async def test_message_arrives_whole_and_in_order(
        self, push: PushSender, browser: PushTarget
    ) -> None:
        await push.check(browser.endpoint)
        messages = [b"", b"one", "zwölf\n".encode(), b"x" * 1024]
        for message in messages:
            await push.send(browser, message)
        assert self.received(push, browser) == messages

    @pytest.mark.parametrize("failure", [NotFound, Unavailable, Failed])
    async def test_refusal_is_raised_by_its_meaning_and_delivers_nothing(
        self, push: PushSender, browser: PushTarget, failure: type[AtollError]
    ) -> None:
        self.scripted(push, browser, failure)
        with pytest.raises(failure):
            await push.send(browser, b"one")
        assert self.received(push, browser) == []
        await push.send(browser, b"two")
        assert self.received(push, browser) == [b"two"]

    @pytest.mark.parametrize(
        "endpoint",
        ["", "http://push.example/a", "https://127.0.0.1/a", "https://[::1]/a", "https://a@b.c/",
         "ftp://push.example/", "https://push.example/\n", "https:///a", "https://169.254.169.254/"],
    )  # fmt: skip
    async def test_endpoint_without_tls_or_name_is_invalid(
        self, push: PushSender, endpoint: str
    ) -> None:
        with pytest.raises(Invalid):
            await push.check(endpoint)
