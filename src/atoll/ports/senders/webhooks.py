"""The WebhookSender port: requests to the endpoints of webhooks."""

from collections.abc import Mapping
from typing import Protocol

from atoll.domain.webhooks.delivery import Receipt


class WebhookSender(Protocol):
    """Sender of signed messages to addresses that people named."""

    async def check(self, url: str) -> None:
        """Return if the URL may be posted to. Raises `Invalid` for its spelling, `Forbidden` when
        its host leads to an address that may not be dialled, `Unavailable` when it does not
        resolve."""
        ...

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Receipt:
        """Post the body once and return the answer's status, whatever it is.

        Redirects are not followed. The rest of the answer is not used, and at most a bounded part
        of it is read. Raises `Unavailable` when there is no answer in time, and what `check`
        raises. The address that is dialled is the one that was checked.
        """
        ...
