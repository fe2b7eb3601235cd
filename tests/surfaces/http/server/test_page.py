"""The page: what is served of the bundle, how long it is kept, and what it may do."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from atoll.surfaces.http.previews.origins import LOOPBACK_ORIGINS
from atoll.surfaces.http.site.page import ROUTES
from tests.surfaces.http.world import short_folder


@pytest.fixture
async def bundle() -> AsyncIterator[Path]:
    async with short_folder() as folder:
        yield folder / "static"


def _client(bundle: Path) -> httpx.AsyncClient:
    app = Starlette(routes=ROUTES)
    app.state.bundle, app.state.origins = bundle, LOOPBACK_ORIGINS
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


async def test_page_without_a_bundle_is_a_plain_sentence(bundle: Path) -> None:
    async with _client(bundle) as client:
        answer = await client.get("/")
    assert answer.status_code == 200
    assert "Atoll is running" in answer.text
    assert answer.headers["cache-control"] == "no-cache"
    assert "unsafe" not in answer.headers["content-security-policy"]


async def test_bundle_is_served_index_anew_and_hashed_names_for_ever(bundle: Path) -> None:
    (bundle / "assets").mkdir(parents=True)
    (bundle / "index.html").write_text("<!doctype html>")
    (bundle / "assets" / "index-DkS82_aZ.js").write_text("1")
    (bundle / "assets" / "index-DkS82_aZ.js.gz").write_bytes(b"gz")
    async with _client(bundle) as client:
        index = await client.get("/")
        again = await client.get("/", headers={"If-None-Match": index.headers["etag"]})
        script = await client.get("/assets/index-DkS82_aZ.js", headers={"Accept-Encoding": "x"})
    assert index.headers["cache-control"] == "no-cache"
    assert index.headers["content-type"] == "text/html; charset=utf-8"
    assert again.status_code == 304
    assert "immutable" in script.headers["cache-control"]
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"


async def test_policy_lets_nothing_unsafe_but_the_terminals_styles(bundle: Path) -> None:
    bundle.mkdir()
    (bundle / "index.html").write_text("<!doctype html>")
    async with _client(bundle) as client:
        policy = (await client.get("/")).headers["content-security-policy"]
    assert policy.count("unsafe") == 1
    assert "style-src 'self' 'unsafe-inline'" in policy
    for rule in ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"):
        assert rule in policy


async def test_frame_of_a_pdf_has_no_origin_and_scripts_that_such_a_frame_may_load(
    bundle: Path,
) -> None:
    (bundle / "assets").mkdir(parents=True)
    (bundle / "pdf.html").write_text("<!doctype html>")
    (bundle / "assets/pdf-DkS82_aZ.js").write_text("1")
    async with _client(bundle) as client:
        frame = await client.get("/pdf.html")
        tag = {"If-None-Match": frame.headers["etag"]}
        again = await client.get("/pdf.html", headers=tag)
        script = await client.get("/assets/pdf-DkS82_aZ.js")
    for answer in (frame, again):
        rules = answer.headers["content-security-policy"].split("; ")
        assert {"default-src 'none'", "sandbox allow-scripts", "frame-ancestors 'self'"} <= {*rules}
        assert not any(rule.startswith("connect-src") for rule in rules)
        assert answer.headers["x-frame-options"] == "SAMEORIGIN"
        assert "access-control-allow-origin" not in answer.headers
    assert script.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    "path",
    ["/../secret", "/%2e%2e/secret", "/assets/..%2f..%2fsecret", "/.hidden", "/assets", "//secret"],
)
async def test_nothing_outside_the_bundle_is_served(bundle: Path, path: str) -> None:
    (bundle / "assets").mkdir(parents=True)
    (bundle / ".hidden").write_text("hidden")
    (bundle.parent / "secret").write_text("secret")
    async with _client(bundle) as client:
        request = client.build_request("GET", "/")
        request.url = request.url.copy_with(raw_path=path.encode())
        answer = await client.send(request)
    assert answer.status_code == 404


async def test_service_worker_and_manifest_are_served_anew_by_their_types(bundle: Path) -> None:
    (bundle / "assets").mkdir(parents=True)
    (bundle / "sw.js").write_text("1")
    for name in ("atoll.webmanifest", "icon-192.png", "icon-mask.png"):
        (bundle / "assets" / name).write_text("{}")
    async with _client(bundle) as client:
        worker = await client.get("/sw.js")
        files = [
            await client.get(f"/assets/{name}")
            for name in ("atoll.webmanifest", "icon-192.png", "icon-mask.png")
        ]
    assert worker.headers["content-type"] == "text/javascript; charset=utf-8"
    assert files[0].headers["content-type"] == "application/manifest+json"
    assert {one.headers["cache-control"] for one in (worker, *files)} == {"no-cache"}
    assert "worker-src 'self'" in worker.headers["content-security-policy"]
