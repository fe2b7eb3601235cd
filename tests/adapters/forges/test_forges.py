"""GitHub and Gitea hold to the contract, by answers that their own descriptions allow."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from atoll.adapters.addresses import Reach
from atoll.adapters.forges.forges import Forges
from atoll.adapters.forges.http import MAX_BYTES, ForgeHttp
from atoll.adapters.forges.settings import ForgeSettings
from atoll.domain.errors import AtollError, Conflict, Forbidden, Invalid, NotFound, Unavailable
from atoll.domain.repository.forge import ForgeRepository
from atoll.ports.outside.forge import Forge
from atoll.ports.outside.issues import IssueReader
from atoll.testing import FakeForge, ForgeContract, IssueReaderContract
from atoll.testing.contracts.outside.forge import COMMITS, NEW
from atoll.wire.words.forges import MAX_TEXT, ForgeKind, PullState
from tests.adapters.forges.vendor import NAME, OWNER, TOKEN, Vendor, application

LOOPBACK = Reach(loopback=True)


@dataclass(frozen=True, slots=True)
class LocalRepository(ForgeRepository):
    """A repository at a server of the tests, which has no TLS."""

    server: str = ""

    @property
    def api(self) -> str:
        """See the class above."""
        return self.server + ("/api/v1" if self.kind is ForgeKind.GITEA else "")


@pytest.fixture
async def vendor(kind: ForgeKind) -> Vendor:
    return Vendor(kind.value, dict(COMMITS))


@pytest.fixture
async def at(vendor: Vendor, kind: ForgeKind) -> AsyncIterator[ForgeRepository]:
    async with TestServer(application(vendor)) as server:
        address = str(server.make_url("")).rstrip("/")
        yield LocalRepository(kind, "https://forge.example", OWNER, NAME, TOKEN, server=address)


@pytest.fixture
async def http() -> AsyncIterator[ForgeHttp]:
    made = ForgeHttp(ForgeSettings(), seconds=2, reach=LOOPBACK)
    yield made
    await made.close()


class BesideVendor:
    """What others do at the vendor, for the contract of its adapter."""

    @pytest.fixture(autouse=True)
    def _beside(self, vendor: Vendor) -> None:
        self.vendor = vendor

    def discuss(self, forge: Forge, number: int) -> None:
        self.vendor.discussed = True

    def refuse(self, forge: Forge) -> None:
        self.vendor.revoked = True

    def write_issue(self, reader: IssueReader, title: str, text: str) -> int:
        return self.vendor.write_issue(title, text)

    def merge(self, reader: IssueReader, number: int) -> None:
        self.vendor.merge(number)

    @pytest.fixture
    def reader(self, http: ForgeHttp) -> IssueReader:
        return Forges(http)


class TestGitHub(BesideVendor, ForgeContract, IssueReaderContract):
    @pytest.fixture
    def kind(self) -> ForgeKind:
        return ForgeKind.GITHUB

    @pytest.fixture
    def forge(self, http: ForgeHttp) -> Forge:
        return Forges(http)


class TestGitea(BesideVendor, ForgeContract, IssueReaderContract):
    @pytest.fixture
    def kind(self) -> ForgeKind:
        return ForgeKind.GITEA

    @pytest.fixture
    def forge(self, http: ForgeHttp) -> Forge:
        return Forges(http)


class TestFake(ForgeContract, IssueReaderContract):
    @pytest.fixture
    def at(self) -> ForgeRepository:
        return ForgeRepository(ForgeKind.GITEA, "https://forge.example", OWNER, NAME, TOKEN)

    @pytest.fixture
    def forge(self) -> FakeForge:
        made = FakeForge()
        made.keep(f"{OWNER}/{NAME}", COMMITS)
        return made

    @pytest.fixture
    def reader(self, forge: FakeForge) -> IssueReader:
        return forge

    def write_issue(self, reader: IssueReader, title: str, text: str) -> int:
        assert isinstance(reader, FakeForge)
        return reader.write_issue(f"{OWNER}/{NAME}", title, text)

    def merge(self, reader: IssueReader, number: int) -> None:
        assert isinstance(reader, FakeForge)
        (pull,) = [one for one in reader.kept[f"{OWNER}/{NAME}"].pulls if one.number == number]
        reader.settle(pull, PullState.MERGED)

    def discuss(self, forge: Forge, number: int) -> None:
        assert isinstance(forge, FakeForge)
        forge.discuss(f"{OWNER}/{NAME}")

    def refuse(self, forge: Forge) -> None:
        assert isinstance(forge, FakeForge)
        forge.refuses = True


def answered(status: int, text: str, **headers: str) -> web.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.Response(status=status, text=text, headers=named)


@pytest.mark.parametrize("kind", [ForgeKind.GITHUB])
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((403, "{}", {"X_RateLimit_Remaining": "0"}), Unavailable),
        ((429, "{}", {}), Unavailable),
        ((403, "{}", {}), Forbidden),
        ((302, "", {"Location": "http://169.254.169.254/"}), NotFound),
        ((500, "<html>", {}), Unavailable),
        ((200, "[" * 100_000, {}), Unavailable),
        ((200, '{"default_branch": 7}', {}), Unavailable),
        ((200, " " * (MAX_BYTES + 1), {}), Unavailable),
    ],
)
async def test_answer_that_is_none_is_an_error_by_what_can_be_done(
    http: ForgeHttp,
    vendor: Vendor,
    at: ForgeRepository,
    *,
    answer: tuple[int, str, dict[str, str]],
    error: type[AtollError],
) -> None:
    status, text, headers = answer
    vendor.answer = lambda: answered(status, text, **headers)
    with pytest.raises(error) as raised:
        await Forges(http).default_branch(at)
    assert TOKEN not in raised.value.message
    assert len(vendor.seen) == 1


@pytest.mark.parametrize("kind", [*ForgeKind])
async def test_words_of_an_issue_are_bounded_and_have_no_control_characters(
    http: ForgeHttp, vendor: Vendor, at: ForgeRepository
) -> None:
    text = "\x1b]0;x\x07" + "y" * MAX_TEXT * 2
    issue = await Forges(http).issue(at, vendor.write_issue("A\x1b[2J\u202eB\nC", text))
    assert issue.title == "A [2J B C"
    assert len(issue.text) == MAX_TEXT + 1 and issue.text.endswith("y…")
    assert all(c.isprintable() for c in issue.text)


@pytest.mark.parametrize("kind", [*ForgeKind])
async def test_pull_request_of_a_fork_names_the_repository_of_its_branch(
    http: ForgeHttp, vendor: Vendor, at: ForgeRepository
) -> None:
    made = await Forges(http).open_pull(at, NEW)
    vendor.pulls[0]["head"]["repo"] = {"full_name": "ada/r\x1b"}
    assert (await Forges(http).pull(at, made.number)).fork == "ada/r"


@pytest.mark.parametrize("kind", [ForgeKind.GITEA])
async def test_reason_of_a_refusal_is_shown_as_one_plain_line(
    http: ForgeHttp, at: ForgeRepository
) -> None:
    forge = Forges(http)
    await forge.open_pull(at, NEW)
    with pytest.raises(Conflict) as refused:
        await forge.open_pull(at, NEW)
    assert "No commits [2J; Validation Failed" in refused.value.message


@pytest.mark.parametrize("kind", [ForgeKind.GITHUB])
async def test_forge_that_is_silent_or_in_a_private_network_is_not_dialled_for_long(
    vendor: Vendor, at: ForgeRepository
) -> None:
    guarded = ForgeHttp(ForgeSettings())
    with pytest.raises(Forbidden):
        await Forges(guarded).default_branch(at)
    assert vendor.seen == []
    await guarded.close()
    async with asyncio.timeout(5):
        hasty = ForgeHttp(ForgeSettings(), seconds=0.05, reach=LOOPBACK)
        nobody = LocalRepository(
            at.kind, at.site, at.owner, at.name, TOKEN, server="http://127.0.0.1:1"
        )
        with pytest.raises(Unavailable):
            await Forges(hasty).default_branch(nobody)
        await hasty.close()


def test_settings_allow_private_networks_alone() -> None:
    assert ForgeSettings(("10.1.0.0/16",)).forge_ranges == ("10.1.0.0/16",)
    with pytest.raises(Invalid) as refused:
        ForgeSettings(("8.8.8.0/24",))
    assert refused.value.field == "forge_ranges"
