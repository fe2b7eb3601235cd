"""The routes of drives: connect in a browser, browse, import and export; no answer has a token."""

from urllib.parse import parse_qs, urlsplit

import httpx

from atoll.testing.fakes.drive import CODE, REFRESH
from tests.surfaces.http.world import World, client_of

DOCUMENT = "application/vnd.google-apps.document"
SHEET = "application/vnd.google-apps.spreadsheet"
ACTS = {
    "POST /v1/drive/connection": {
        "state": "test_drive_is_connected_by_the_browser_that_began_it",
        "code": "test_drive_is_connected_by_the_browser_that_began_it",
    },
    "POST /v1/sandboxes/{sandbox}/drive/import": {
        "file": "test_files_come_and_go_as_the_body_says",
        "path": "test_files_come_and_go_as_the_body_says",
        "form": "test_files_come_and_go_as_the_body_says",
        "replace": "test_files_come_and_go_as_the_body_says",
    },
    "POST /v1/sandboxes/{sandbox}/drive/export": {
        "path": "test_files_come_and_go_as_the_body_says",
        "folder": "test_files_come_and_go_as_the_body_says",
        "name": "test_files_come_and_go_as_the_body_says",
        "file": "test_files_come_and_go_as_the_body_says",
        "secrets": "test_files_come_and_go_as_the_body_says",
    },
}


async def connect(atoll: World, client: httpx.AsyncClient) -> httpx.Response:
    """Connect as the page does; the client is a logged-in browser."""
    begun = await client.post("/v1/drive/connect")
    assert begun.status_code == 200, begun.text
    state = atoll.drive.begun[-1].state
    back = await client.get("/auth/drive/callback", params={"state": state, "code": CODE})
    assert back.status_code == 302
    brought = parse_qs(urlsplit(back.headers["Location"]).fragment.removeprefix("drive="))
    body = {name: one for name, (one,) in brought.items()}
    return await client.post("/v1/drive/connection", json=body)


async def page_of(atoll: World) -> dict[str, str]:
    """The headers of the page in a logged-in browser, whose cookies the client keeps."""
    return {**await atoll.browser(), "Origin": atoll.url}


async def test_drive_is_connected_by_the_browser_that_began_it(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        assert (await client.get("/v1/drive")).json() == {
            "available": True, "account": None, "connected_at": None,
        }  # fmt: skip
        begun = await client.post("/v1/drive/connect")
        (cookie,) = begun.headers.get_list("set-cookie")
        assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
        assert begun.json()["url"].startswith("https://drive.example/consent?state=")
        kept = dict(client.cookies)
        state = atoll.drive.begun[-1].state
        for body in ({"state": "x", "code": CODE}, {"state": "", "code": CODE}):
            wrong = await client.post("/v1/drive/connection", json=body)
            assert (wrong.status_code, wrong.json()["code"]) == (401, "drive_not_begun")
        client.cookies.clear()
        without = await client.post("/v1/drive/connection", json={"state": state, "code": CODE})
        assert without.json()["code"] == "drive_not_begun"
        client.cookies.update(kept)
        no = await client.post("/v1/drive/connection", json={"state": state})
        assert (no.status_code, no.json()["code"]) == (403, "drive_ended")
        done = await connect(atoll, client)
        assert done.json()["account"] == "ada@example.org"
        assert atoll.drive.begun[-1].redirect_uri == f"{atoll.url}/auth/drive/callback"
        secrets = await client.get("/v1/secrets")
        assert [one["kind"] for one in secrets.json()["secrets"]] == ["drive"]
        ended = await client.delete("/v1/drive/connection")
        assert ended.json() == {"revoked": True}
        again = await client.delete("/v1/drive/connection")
        assert (again.status_code, again.json()["code"]) == (404, "not_connected")
    for answer in (begun, done, secrets, ended):
        assert REFRESH not in answer.text + str(answer.headers)


async def test_browsers_session_alone_finishes_what_it_began(atoll: World) -> None:
    ours, theirs = await page_of(atoll), await page_of(atoll)
    async with client_of(atoll.url) as client:
        begun = await client.post("/v1/drive/connect", headers=ours)
        cookie = begun.headers["set-cookie"].partition(";")[0]
        body = {"state": atoll.drive.begun[-1].state, "code": CODE}
        client.cookies.clear()
        for page, status in ((theirs, 401), (ours, 200)):
            with_both = {**page, "Cookie": f"{page['Cookie']}; {cookie}"}
            done = await client.post("/v1/drive/connection", json=body, headers=with_both)
            assert done.status_code == status, done.text
        client.cookies.clear()
        elsewhere = {**ours, "Origin": "https://evil.example"}
        refused = await client.post("/v1/drive/connect", headers=elsewhere)
        assert refused.status_code in (401, 403)


async def test_way_back_leads_to_the_page_and_nowhere_else(atoll: World) -> None:
    async with client_of(atoll.url) as client:
        for state in ("//evil.example", "x\r\nSet-Cookie: a=b", "<script>", "&code=other#x"):
            back = await client.get("/auth/drive/callback", params={"state": state, "code": "c"})
            place = back.headers["Location"]
            assert back.status_code == 302 and place.startswith("/#drive=state=")
            assert not set("<>\r\n") & set(place) and "set-cookie" not in back.headers
            told = parse_qs(place.partition("#drive=")[2])
            assert told == {"state": [state], "code": ["c"]}
        long = await client.get("/auth/drive/callback", params={"state": "x" * 5000})
        assert long.status_code == 422


async def test_files_are_browsed_in_pages_and_searched(atoll: World) -> None:
    atoll.drive.keep("docs", "Docs", media_type="application/vnd.google-apps.folder")
    atoll.drive.keep("paper", "<b>Paper</b>", b"# P", folder="docs", media_type=DOCUMENT)
    atoll.drive.keep("notes", "notes.txt", b"one", folder="docs")
    async with client_of(atoll.url, atoll.token) as client:
        before = await client.get("/v1/drive/files")
        assert (before.status_code, before.json()["code"]) == (404, "not_connected")
        await connect(atoll, client)
        root = (await client.get("/v1/drive/files")).json()
        assert [one["folder"] for one in root["files"]] == [True] and root["next"] is None
        first = (await client.get("/v1/drive/files?folder=docs&limit=1")).json()
        query = f"folder=docs&limit=1&cursor={first['next']}"
        second = (await client.get(f"/v1/drive/files?{query}")).json()
        assert (first["files"][0]["name"], second["next"]) == ("<b>Paper</b>", None)
        assert first["files"][0]["forms"] == ["md", "txt", "pdf", "docx", "odt"]
        assert second["files"][0] == {
            "id": "notes", "name": "notes.txt", "folder": False, "media_type": "text/plain",
            "size": 3, "modified_at": "2026-01-02T00:00:00.000Z", "forms": [], "importable": True,
        }  # fmt: skip
        found = (await client.get("/v1/drive/files?name=NOTES")).json()
        assert [one["id"] for one in found["files"]] == ["notes"]
        for query in ("folder=a/b", "name=a%0Ab", "cursor=a%20b"):
            assert (await client.get(f"/v1/drive/files?{query}")).status_code == 422


async def test_files_come_and_go_as_the_body_says(atoll: World) -> None:
    atoll.drive.keep("sums", "Sums", b"1,2", media_type=SHEET)
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/sandboxes?wait=ready", json={"name": "box"})
        box = f"/v1/sandboxes/{made.json()['sandbox_id']}/drive"
        await connect(atoll, client)
        there = await client.post(f"{box}/import", json={"file": "sums", "path": "in/s.csv"})
        assert (there.status_code, there.json()["code"]) == (409, "exists")
        wrong = await client.post(f"{box}/import", json={"file": "sums", "form": "md"})
        assert (wrong.status_code, wrong.json()["field"]) == (422, "form")
        whole = {"file": "sums", "path": "in/", "form": "xlsx", "replace": True}
        brought = await client.post(f"{box}/import", json=whole)
        assert brought.status_code == 201, brought.text
        asked = [one for one in atoll.runtime.asked if one[1] == "/files/content"]
        assert asked[-1][2:] == ({"path": "in/Sums.xlsx", "parents": "true"}, b"1,2")
        sent = await client.post(f"{box}/export", json={"path": "out/evil.html", "folder": "docs"})
        new = sent.json()["id"]
        assert (sent.status_code, sent.json()["name"]) == (201, "evil.html")
        assert atoll.drive.kept[new].folder == "docs"
        assert atoll.drive.kept[new].content == b"<script>alert(1)</script>"
        body = {"path": "out/evil.html", "name": "two.html", "file": new, "secrets": "allow"}
        again = await client.post(f"{box}/export", json=body)
        assert (again.json()["id"], again.json()["name"]) == (new, "two.html")
        audit = await client.get("/v1/audit?kind=drive.")
        assert [one["event_type"] for one in audit.json()["entries"]].count("drive.exported") == 2
    for answer in (there, brought, sent, again, audit):
        assert REFRESH not in answer.text
