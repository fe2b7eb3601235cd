from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from atoll.adapters.clocks import SystemClock
from atoll.adapters.push.encryption import MAX_MESSAGE, encrypt_message, encrypt_record
from atoll.adapters.push.sender import HttpPushSender
from atoll.adapters.push.settings import PushSettings
from atoll.adapters.push.vapid import VapidKey
from atoll.domain.errors import (
    AtollError,
    Failed,
    Forbidden,
    Invalid,
    NotFound,
    Unavailable,
)
from atoll.domain.people.push import PushTarget
from atoll.ports.senders.push import PushSender
from atoll.testing import FakePushSender, PushSenderContract
from tests.peers.receivers.push_service import Browser, PushService, push_service, unspelled

STATUSES: dict[type[AtollError], int] = {NotFound: 410, Unavailable: 503, Failed: 400}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[PushService]:
    async with push_service(tmp_path) as found:
        yield found


def _sender(service: PushService, folder: Path, *, loopback: bool = True) -> HttpPushSender:
    settings = PushSettings(allow_loopback_push=loopback)
    return HttpPushSender(folder / "push.key", SystemClock(), settings, trust=service.trust)


class TestHttpPushSender(PushSenderContract):
    @pytest.fixture
    async def push(self, service: PushService, tmp_path: Path) -> AsyncIterator[HttpPushSender]:
        self.service = service
        sender = _sender(service, tmp_path)
        yield sender
        await sender.close()

    @pytest.fixture
    def browser(self, service: PushService) -> PushTarget:
        return service.subscribe().target

    def scripted(self, push: PushSender, browser: PushTarget, failure: type[AtollError]) -> None:
        self.service.statuses.append(STATUSES[failure])

    def received(self, push: PushSender, browser: PushTarget) -> list[bytes]:
        return self.service.browsers["/one"].read


class TestFakePushSender(PushSenderContract):
    @pytest.fixture
    def push(self) -> FakePushSender:
        return FakePushSender()

    @pytest.fixture
    def browser(self) -> PushTarget:
        return Browser("https://push.example/one").target

    def scripted(self, push: PushSender, browser: PushTarget, failure: type[AtollError]) -> None:
        assert isinstance(push, FakePushSender)
        push.failures[browser.endpoint] = [failure("as scripted")]

    def received(self, push: PushSender, browser: PushTarget) -> list[bytes]:
        assert isinstance(push, FakePushSender)
        return push.sent.get(browser.endpoint, [])


def test_encryption_is_that_of_the_example_in_rfc_8291() -> None:
    def private(text: str) -> ec.EllipticCurvePrivateKey:
        return ec.derive_private_key(int.from_bytes(unspelled(text), "big"), ec.SECP256R1())

    browser = Browser(
        "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV",
        key=private("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"),
        auth=unspelled("BTBZMqHH6r4Tts7J_aSIgg"),
    )
    body = encrypt_record(
        browser.target,
        b"When I grow up, I want to be a watermelon\x02",
        own=private("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"),
        salt=unspelled("DGv6ra1nlYgDCS1FRnbzlw"),
    )
    assert body == unspelled(
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAm"
        "S6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_"
        "Qulcy4a-fN"
    )


def test_all_messages_have_one_length_and_no_two_are_alike() -> None:
    target = Browser("https://push.example/one").target
    bodies = [
        encrypt_message(target, message) for message in (b"", b"one", b"one", b"x" * MAX_MESSAGE)
    ]
    assert len({len(body) for body in bodies}) == 1
    assert len(set(bodies)) == 4
    with pytest.raises(ValueError, match="at most 1024"):
        encrypt_message(target, b"x" * (MAX_MESSAGE + 1))


def test_key_that_is_no_point_is_refused() -> None:
    with pytest.raises(Failed, match="P-256"):
        encrypt_message(PushTarget("https://push.example/", b"\x04" + b"x" * 64, b"a" * 16), b"")


def test_vapid_key_is_private_and_survives_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "push.key"
    public = VapidKey(file).public()
    assert file.stat().st_mode & 0o777 == 0o600
    assert VapidKey(file).public() == public
    file.write_text("nonsense")
    with pytest.raises(Failed, match="no P-256 key"):
        VapidKey(file).public()
    file.chmod(0o644)
    with pytest.raises(Failed, match="open to others"):
        VapidKey(file).public()


async def test_request_carries_the_key_that_browsers_subscribe_with(
    service: PushService, tmp_path: Path
) -> None:
    sender = _sender(service, tmp_path)
    await sender.send(service.subscribe().target, b"{}")
    assert service.public_key == await sender.public_key()
    assert "Cookie" not in service.headers[0]
    await sender.close()


async def test_redirect_is_not_followed(service: PushService, tmp_path: Path) -> None:
    sender, browser = _sender(service, tmp_path), service.subscribe()
    service.statuses.append(307)
    with pytest.raises(Failed, match="307"):
        await sender.send(browser.target, b"{}")
    assert len(service.bodies) == 1
    await sender.close()


async def test_certificate_of_nobody_is_refused(service: PushService, tmp_path: Path) -> None:
    settings = PushSettings(allow_loopback_push=True)
    sender = HttpPushSender(tmp_path / "push.key", SystemClock(), settings)
    with pytest.raises(Unavailable, match="cannot be reached"):
        await sender.send(service.subscribe().target, b"{}")
    assert service.bodies == []
    await sender.close()


async def test_loopback_is_refused_without_the_owners_setting(
    service: PushService, tmp_path: Path
) -> None:
    sender = _sender(service, tmp_path, loopback=False)
    target = service.subscribe().target
    for attempt in (sender.check(target.endpoint), sender.send(target, b"{}")):
        with pytest.raises(Forbidden, match="not a public address"):
            await attempt
    assert service.bodies == []
    await sender.close()


def test_contact_that_push_services_refuse_is_refused_at_the_start() -> None:
    for contact in ("", "me@example.com", "http://example.com", "mailto:a b"):
        with pytest.raises(Invalid, match="push_contact"):
            PushSettings(push_contact=contact)
    PushSettings(push_contact="https://atoll.example.com")
