"""Credentials of this installation in requests to a preview: none goes into the sandbox."""

import base64
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, Final
from urllib.parse import quote

import pytest

from atoll.domain.people.login import spell_secret
from atoll.surfaces.http.server.internal_access import InternalAccess
from tests.surfaces.http.previews.test_gate import Browser, _box, _browser, _link, _server
from tests.surfaces.http.world import World, client_of, world

INTERNAL = "internal!token~of+32/characters=or:more"
THEIRS: Final = {
    "a key of somebody else": "sk-live-0123456789abcdef0123456789",
    "a secret of the same shape": spell_secret(b"t" * 32),
    "a signed token of somebody else": "eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJ0aGVpcnMifQ."
    + "c2lnbmF0dXJlLW9mLXNvbWVib2R5LWVsc2U",
}
"""What belongs to the app inside, and comes through."""


def _basic(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


Place = Callable[[str, str], tuple[str, dict[str, str]]]
"""Returns a path and headers that hold a credential; the second text is the preview's origin."""

PLACES: Final[dict[str, Place]] = {
    "Bearer": lambda one, _: ("/", {"Authorization": f"Bearer {one}"}),
    "Basic": lambda one, _: ("/", {"Authorization": f"Basic {_basic(f'x:{one}')}"}),
    "a header": lambda one, _: ("/", {"X-Any": f"before {one}, after"}),
    "a header in base64": lambda one, _: ("/", {"X-Any": _basic(one).rstrip("=")}),
    "its header": lambda one, _: ("/", {"X-Internal-Token": one}),
    "a cookie": lambda one, _: ("/", {"Cookie": f"mine=1; other={one}"}),
    "a query": lambda one, _: (f"/?a=1&t={quote(one, safe='')}&b=2", {}),
    "an escaped query": lambda one, _: (
        "/?t=" + quote("".join(f"%{ord(c):02x}" for c in one), safe=""),
        {},
    ),
    "a referrer": lambda one, origin: ("/", {"Referer": f"{origin}/?t={quote(one, safe='')}"}),
    "a subprotocol": lambda one, _: ("/", {"Sec-WebSocket-Protocol": f"chat, x.{quote(one)}"}),
    "a subprotocol of ours": lambda one, _: (
        "/",
        {"Sec-WebSocket-Protocol": f"atoll.page, atoll.key.{quote(one)}, chat"},
    ),
}


@pytest.fixture
async def atoll() -> AsyncIterator[World]:
    async with world(internal=InternalAccess(INTERNAL.encode())) as made:
        yield made


@pytest.fixture
async def visitor(atoll: World) -> Browser:
    atoll.runtime.inside = _server
    return await _browser(atoll, (await _link(atoll, await _box(atoll)))["url"])


async def _own(atoll: World, visitor: Browser) -> dict[str, str]:
    """One credential of each kind."""
    session = await atoll.cookie()
    async with client_of(atoll.url, atoll.token) as client:
        token = (await client.post("/auth/pat", json={"name": "t"})).json()["token"]
        signed = (await client.post("/auth/token", json={})).json()["access_token"]
        box = (await client.get("/v1/sandboxes")).json()["sandboxes"][0]["sandbox_id"]
        link = await client.post(f"/v1/sandboxes/{box}/shares", json={"role": "viewer"})
    return {
        "the home's token": atoll.token,
        "a personal token": token,
        "a signed token": signed,
        "a session": session,
        "a page key": atoll.logins.page_key(session),
        "a login ticket": await atoll.ticket(),
        "a share ticket": link.json()["link"].rpartition("=")[2],
        "the secret of a preview": (await _link(atoll, box))["url"].partition("#")[2],
        "a visit of a preview": visitor.cookie.partition("=")[2],
        "the internal token": INTERNAL,
    }


async def _inside(visitor: Browser, place: Place, secret: str) -> dict[str, Any]:
    path, headers = place(secret, visitor.origin)
    headers["Cookie"] = "; ".join(filter(None, (visitor.cookie, headers.get("Cookie"))))
    answer = await visitor.call("GET", path, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_no_credential_of_ours_goes_inside_wherever_it_stands(
    atoll: World, visitor: Browser
) -> None:
    leaked = []
    for kind, secret in (await _own(atoll, visitor)).items():
        for name, place in PLACES.items():
            if kind == "a page key" and name != "a subprotocol of ours":
                continue  # worth nothing without its session; see the next test
            if kind == "the internal token" and name.startswith(("a cookie", "a subproto")):
                continue  # no value that may stand there
            told = json.dumps(await _inside(visitor, place, secret))
            spellings = (secret, quote(secret, safe=""), _basic(secret).rstrip("="))
            if any(one in told for one in spellings) or _basic(f"x:{secret}") in told:
                leaked.append(f"{kind} in {name}: {told[:300]}")
    assert not leaked, "\n".join(leaked)


async def test_page_key_goes_nowhere_beside_its_session(atoll: World, visitor: Browser) -> None:
    session = await atoll.cookie()
    key = atoll.logins.page_key(session)
    cookie = f"{visitor.cookie}; other={session}"
    answer = await visitor.call("GET", f"/?k={key}", headers={"Cookie": cookie})
    assert key not in answer.text
    assert session not in answer.text


async def test_what_is_the_apps_own_comes_through(visitor: Browser) -> None:
    for secret in THEIRS.values():
        for name, place in PLACES.items():
            if name in ("its header", "a subprotocol of ours"):
                continue
            path, headers = place(secret, visitor.origin)
            found = await _inside(visitor, place, secret)
            told = dict(found["headers"])
            assert found["target"] == path
            for header, value in headers.items():
                if header not in ("Cookie", "Referer"):
                    assert told[header.lower()] == value, name
    shown = dict((await _inside(visitor, PLACES["a cookie"], "theirs"))["headers"])
    assert shown["cookie"] == "mine=1; other=theirs"


@pytest.mark.parametrize(
    "word",
    ["eyJ" * 5300, "eyJ" * 5300 + "." + "a" * 200, "eyJ" * 5300 + ".a." + "a" * 86],
    ids=["beginnings", "a part", "all of a token"],
)
async def test_head_full_of_beginnings_of_tokens_is_read_in_a_moment(
    visitor: Browser, word: str
) -> None:
    began = time.process_time()
    for _ in range(3):
        answer = await visitor.call("GET", "/", headers={"X-Any": word, "X-Other": word[3:]})
        assert answer.status_code == 200
    assert time.process_time() - began < 0.3


async def test_what_stands_beside_a_credential_stays(atoll: World, visitor: Browser) -> None:
    ours = atoll.token
    assert (await _inside(visitor, PLACES["a query"], ours))["target"] == "/?a=1&b=2"
    shown = dict((await _inside(visitor, PLACES["a cookie"], ours))["headers"])
    assert shown["cookie"] == "mine=1"
    for name in ("a subprotocol", "a subprotocol of ours"):
        shown = dict((await _inside(visitor, PLACES[name], ours))["headers"])
        assert shown["sec-websocket-protocol"] == "chat"


async def test_path_with_a_credential_is_refused(atoll: World, visitor: Browser) -> None:
    answer = await visitor.call("GET", f"/x/{atoll.token}")
    assert (answer.status_code, answer.json()["code"]) == (403, "own_credential")
    assert atoll.token not in answer.text


async def test_head_of_very_many_words_is_refused(visitor: Browser) -> None:
    words = ",".join(f"{number:x}" * 16 for number in range(1, 400))
    answer = await visitor.call("GET", "/", headers={"X-Any": words[:12000]})
    assert answer.status_code in (200, 403)
