"""The receiver of docs/program/webhooks.md accepts what Atoll sends, and nothing else."""

import re
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from http.server import HTTPServer
from typing import Any

import pytest

from atoll.adapters.webhooks.sender import HttpWebhookSender
from atoll.adapters.webhooks.settings import WebhookSettings
from atoll.domain.webhooks.signature import body_of, signed_headers, spelled_secret
from tests.domain.webhooks.test_webhook import event
from tests.places import ROOT

PAGE = (ROOT / "docs" / "program" / "webhooks.md").read_text()
SECRET, OTHER = spelled_secret(b"k" * 32), spelled_secret(b"o" * 32)
BODY = body_of(event())
NOW = timedelta()


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where the receiver of the page listens."""
    found = re.search(r"```python\n(.*?)server\.serve_forever\(\)\n```", PAGE, re.DOTALL)
    assert found is not None
    monkeypatch.setenv("WEBHOOK_SECRET", SECRET)
    names: dict[str, Any] = {}
    exec(found[1].replace("8000", "0"), names)
    monkeypatch.setattr(names["Receiver"], "log_message", lambda *_: None)
    server: HTTPServer = names["server"]
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    serving.join()


@pytest.fixture
async def sender() -> AsyncIterator[HttpWebhookSender]:
    found = HttpWebhookSender(WebhookSettings(allow_loopback_webhooks=True))
    yield found
    await found.close()


@pytest.mark.parametrize(
    ("secrets", "age", "sent", "status"),
    [
        ([SECRET], NOW, BODY, 204),
        ([OTHER, SECRET], NOW, BODY, 204),
        ([OTHER], NOW, BODY, 401),
        ([SECRET], timedelta(minutes=6), BODY, 401),
        ([SECRET], NOW, BODY.replace(b"ready", b"READY"), 401),
    ],
)
async def test_receiver_accepts_what_is_signed_now_and_nothing_else(
    url: str,
    sender: HttpWebhookSender,
    secrets: list[str],
    age: timedelta,
    sent: bytes,
    status: int,
) -> None:
    headers = signed_headers("ev_1", BODY, at=datetime.now(UTC) - age, secrets=secrets)
    assert (await sender.send(url, headers, sent)).status == status


def test_receiver_verifies_in_ten_lines() -> None:
    block = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    lines = [line for line in block[1].partition("class ")[0].splitlines() if line]
    assert len(lines) <= 10
