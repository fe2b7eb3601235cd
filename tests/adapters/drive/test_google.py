"""Google Drive holds to the contract, by requests and answers that Google's document describes."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from atoll.adapters.addresses import Reach
from atoll.adapters.clocks import SystemClock
from atoll.adapters.drive.google import SCOPES, GoogleDrive
from atoll.adapters.drive.http import GOOGLE, MAX_BYTES, DriveHttp
from atoll.adapters.drive.resumable import PIECE_BYTES
from atoll.adapters.drive.settings import DriveSettings
from atoll.domain.drive.drive import DriveAccess, DriveQuery, DriveUpload
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Failed,
    Forbidden,
    Invalid,
    LimitReached,
    NotFound,
    Unavailable,
)
from atoll.ports.outside.drive import CloudDrive
from atoll.testing import CloudDriveContract, FakeDrive
from atoll.testing.contracts.outside.drive import BEGUN, MANY, NOTES, PAPER, in_parts
from atoll.testing.fakes.drive import CODE
from tests.adapters.drive.description import described, host_of
from tests.adapters.drive.vendor import ACCESS, CLIENT, FOLDER, REFRESH, SECRET, Vendor, application

LATER = datetime(2100, 1, 1, tzinfo=UTC)
TOKEN = DriveAccess(ACCESS, LATER)


@pytest.fixture
async def vendor() -> AsyncIterator[Vendor]:
    made = Vendor(scopes=frozenset(SCOPES))
    async with TestServer(application(made)) as server:
        made.url = str(server.make_url("")).rstrip("/")
        yield made


@pytest.fixture
async def drive(vendor: Vendor) -> AsyncIterator[GoogleDrive]:
    http = DriveHttp(seconds=5, reach=Reach(loopback=True))
    yield GoogleDrive((CLIENT, SECRET), http, SystemClock(), sites=vendor.sites, pause=0.001)
    await http.close()


class TestGoogle(CloudDriveContract):
    @pytest.fixture(autouse=True)
    def _beside(self, vendor: Vendor) -> None:
        self.vendor = vendor

    def consent(self, drive: CloudDrive, url: str) -> str:
        return self.vendor.consent(url)

    def end(self, drive: CloudDrive) -> None:
        self.vendor.ended = True


class TestFake(CloudDriveContract):
    @pytest.fixture
    def drive(self) -> FakeDrive:
        made = FakeDrive()
        made.keep("docs", "Docs", media_type=FOLDER)
        made.keep("notes", "notes.txt", NOTES)
        kind = "application/vnd.google-apps.document"
        made.keep("paper", "Paper", PAPER, folder="docs", media_type=kind)
        for number in range(MANY):
            made.keep(f"more-{number}", f"more {number}", b"x", folder="docs")
        return made

    def consent(self, drive: CloudDrive, url: str) -> str:
        return CODE

    def end(self, drive: CloudDrive) -> None:
        from atoll.testing.fakes.drive import REFRESH as kept

        assert isinstance(drive, FakeDrive)
        drive.revoked.append(kept)


def test_sites_are_googles_own() -> None:
    assert described().api == GOOGLE.api
    assert set(SCOPES) <= set(described().whole["auth"]["oauth2"]["scopes"])
    for url in (GOOGLE.consent, GOOGLE.tokens, GOOGLE.revocation, GOOGLE.api):
        assert url.startswith("https://") and host_of(url).split(".")[-2:] in (
            ["google", "com"],
            ["googleapis", "com"],
        )


async def test_consent_is_asked_for_with_a_challenge_and_traded_with_the_secret(
    drive: GoogleDrive, vendor: Vendor
) -> None:
    url = drive.consent_url(BEGUN)
    assert SECRET not in url and urlsplit(url).query.count("code_challenge=") == 1
    grant = await drive.connect(BEGUN, vendor.consent(url))
    assert grant.account == "ada@example.org" and grant.refresh_token == REFRESH
    access = await drive.access(REFRESH)
    assert access.token == ACCESS and access.expires_at <= datetime.now(UTC) + timedelta(hours=1)
    assert ACCESS not in repr(access) and REFRESH not in repr(grant)


async def test_consent_to_less_is_ended_and_refused(drive: GoogleDrive, vendor: Vendor) -> None:
    code = vendor.consent(drive.consent_url(BEGUN))
    vendor.scopes = frozenset(SCOPES[:1])
    with pytest.raises(Forbidden) as refused:
        await drive.connect(BEGUN, code)
    assert refused.value.code == "drive_ended" and vendor.ended


async def test_client_that_google_does_not_know_is_the_administrators_to_change(
    vendor: Vendor,
) -> None:
    http = DriveHttp(reach=Reach(loopback=True))
    drive = GoogleDrive((CLIENT, "wrong-secret"), http, SystemClock(), sites=vendor.sites)
    with pytest.raises(Unavailable, match="drive_client_id") as raised:
        await drive.access(REFRESH)
    assert "wrong-secret" not in raised.value.message
    await http.close()


async def test_large_file_goes_in_pieces_and_a_lost_piece_is_sent_again(
    drive: GoogleDrive, vendor: Vendor
) -> None:
    data = b"0123456789abcdef" * (PIECE_BYTES // 16 * 2 + 1)
    vendor.drops = 2
    made = await drive.store(TOKEN, DriveUpload("big.bin"), in_parts(data[:7], data[7:]))
    assert vendor.files[made.id].data == data and not vendor.uploads
    exact = await drive.store(TOKEN, DriveUpload("exact"), in_parts(data[:PIECE_BYTES]))
    assert exact.size == PIECE_BYTES


async def test_upload_that_fails_for_good_is_cancelled(drive: GoogleDrive, vendor: Vendor) -> None:
    vendor.drops = 100
    with pytest.raises(Unavailable):
        await drive.store(TOKEN, DriveUpload("big.bin"), in_parts(b"data"))
    assert vendor.cancelled == ["0"] and not vendor.uploads


async def test_upload_is_sent_to_no_other_host(drive: GoogleDrive, vendor: Vendor) -> None:
    for place in ("http://169.254.169.254/x", "https://evil.example/upload", ""):
        vendor.place = place or "/relative"
        with pytest.raises(Unavailable):
            await drive.store(TOKEN, DriveUpload("f"), in_parts(b"data"))
    assert all(one.startswith("POST /upload/drive/v3/files?") for one in vendor.seen)


@pytest.mark.parametrize(
    ("status", "text", "error"),
    [
        (401, "{}", Forbidden),
        (403, '{"error": {"errors": [{"reason": "userRateLimitExceeded"}]}}', Unavailable),
        (403, '{"error": {"errors": [{"reason": "exportSizeLimitExceeded"}]}}', LimitReached),
        (403, '{"error": {"errors": [{"reason": "storageQuotaExceeded"}]}}', Conflict),
        (403, '{"error": {"errors": "x", "message": 7}}', Forbidden),
        (403, '{"error": 7}', Forbidden),
        (404, "<html>", NotFound),
        (302, "", NotFound),
        (400, "[" * 100_000, Conflict),
        (429, "", Unavailable),
        (500, "", Unavailable),
        (200, "[" * 100_000, Unavailable),
        (200, '{"files": [{"id": 7}]}', Unavailable),
        (200, " " * (MAX_BYTES + 1), Unavailable),
    ],
)
async def test_answer_that_is_none_is_an_error_by_what_can_be_done(
    drive: GoogleDrive, vendor: Vendor, *, status: int, text: str, error: type[AtollError]
) -> None:
    vendor.answer = lambda: web.Response(
        status=status, text=text, headers={"Location": "http://169.254.169.254/"}
    )
    with pytest.raises(error) as raised:
        await drive.page(TOKEN, DriveQuery())
    assert ACCESS not in raised.value.message and len(vendor.seen) == 1


async def test_words_of_a_refusal_are_one_plain_line(drive: GoogleDrive, vendor: Vendor) -> None:
    said = '{"error": {"message": "No\\u001b[2J\\u202e such"}}'
    vendor.answer = lambda: web.Response(status=403, text=said)
    with pytest.raises(Forbidden) as refused:
        await drive.page(TOKEN, DriveQuery())
    assert refused.value.message == "Google Drive refused: No [2J  such"


async def test_file_that_breaks_off_is_no_file(drive: GoogleDrive, vendor: Vendor) -> None:
    told = vendor.files["notes"].told
    short = web.Response(body=b"short", headers={"Content-Length": "9"})
    short.force_close()
    answers = iter((web.json_response(told), short))
    vendor.answer = lambda: next(answers)
    with pytest.raises(Unavailable):
        async with drive.open(TOKEN, "notes", None) as opened:
            async for _ in opened.body:
                pass


async def test_names_become_plain_and_sizes_numbers(drive: GoogleDrive, vendor: Vendor) -> None:
    vendor.keep("bad", "../\x1b[2J\u202eevil\nname", "text/\x00plain", data=b"x")
    vendor.files["bad"].told["size"] = "١٢"
    (file,) = (await drive.page(TOKEN, DriveQuery(name="evil"))).files
    assert file.name == "../ [2J evil name" and file.media_type == "text/ plain"
    assert file.size is None


async def test_private_network_is_not_dialled(vendor: Vendor) -> None:
    http = DriveHttp()
    drive = GoogleDrive((CLIENT, SECRET), http, SystemClock(), sites=vendor.sites)
    async with asyncio.timeout(5):
        with pytest.raises(Forbidden):
            await drive.page(TOKEN, DriveQuery())
    assert vendor.seen == []
    await http.close()


def test_settings_need_both_halves_of_a_client_and_a_private_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a-secret\n")
    secret.chmod(0o600)
    with pytest.raises(Invalid):
        DriveSettings(None, str(secret))
    with pytest.raises(Invalid):
        DriveSettings("two words")
    assert DriveSettings("client").client_secret() == ""
    assert DriveSettings("client", str(secret)).client_secret() == "a-secret"
    secret.chmod(0o644)
    for wrong in (secret, tmp_path / "gone"):
        with pytest.raises(Failed):
            DriveSettings("client", str(wrong)).client_secret()
