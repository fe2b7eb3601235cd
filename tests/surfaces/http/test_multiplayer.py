"""The multiplayer API's words over the same services."""

import io
import tarfile

import aiohttp
import httpx

from tests.surfaces.http.world import World, client_of


async def test_session_is_made_shown_as_a_sandbox_and_ended(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/sessions?wait=ready")
        assert made.status_code == 201
        session = made.json()["session_id"]
        assert made.json()["state"] in ("ready", "active")
        other = await client.post("/sessions", json={"profile": "shell", "name": "two"})
        assert (other.status_code, other.json()["name"]) == (202, "two")
        sandbox = (await client.get(f"/v1/sandboxes/{session}")).json()
        assert sandbox["name"] == made.json()["name"]
        # The workspace of this runtime holds a file.
        kept = await client.delete(f"/sessions/{session}?unpulled=refuse")
        assert (kept.status_code, kept.json()["code"]) == (409, "unpulled_work")
        assert (await client.delete(f"/sessions/{session}")).status_code == 204
        assert (await client.delete(f"/sessions/{session}")).status_code == 204
        assert (await client.delete("/sessions/sb_none")).status_code == 404
        assert (await client.post("/sessions", json={"profile": 7})).status_code == 422


async def test_session_that_the_consumer_has_as_a_sandbox_is_that_one(atoll: World) -> None:
    """Nobody asked for the lock that sessions have, nor for the mode that a task was given."""
    consumer = {"harness": "h", "session_id": "s"}
    body = {"scope": "agent", "consumer": consumer, "agent": "codex", "prompt": "Go."}
    asks = {"mode": "machine", "permissions": "ask"}
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/sandboxes", json={**body, "task": asks})
        assert made.status_code == 202, made.text
        assert made.json()["softlock"] == "owner"
        session = await client.post("/sessions", json=body)
        assert session.status_code == 202, session.text
        assert session.json()["session_id"] == made.json()["sandbox_id"]
        others = (({"task": {"mode": "tui"}}, "task.mode"), ({"softlock": "strict"}, "softlock"))
        for named, field in others:
            again = await client.post("/sessions", json={**body, **named})
            assert (again.status_code, again.json()["field"]) == (409, field)
        fresh = {**body, "consumer": {**consumer, "session_id": "t"}}
        strict = (await client.post("/sessions", json=fresh)).json()["session_id"]
        assert (await client.get(f"/v1/sandboxes/{strict}")).json()["softlock"] == "strict"


async def test_ptys_are_terminals_under_another_name(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        session = (await client.post("/sessions?wait=ready")).json()["session_id"]
        opened = await client.post(f"/sessions/{session}/ptys", json={"argv": ["bash"]})
        assert (opened.status_code, opened.json()["pty_id"]) == (201, "t_1")
        assert "terminal_id" not in opened.json()
        listed = (await client.get(f"/sessions/{session}/ptys")).json()
        assert [row["pty_id"] for row in listed["ptys"]] == ["t_1"]
        same = (await client.get(f"/v1/sandboxes/{session}/terminals")).json()["terminals"]
        assert same[0]["terminal_id"] == "t_1"
        assert (await client.delete(f"/sessions/{session}/ptys/t_1")).status_code == 204
        assert (await client.get("/sessions/nothing/ptys")).status_code == 404


async def test_websocket_of_a_pty_passes_bytes_and_control_frames(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        session = (await client.post("/sessions?wait=ready")).json()["session_id"]
    url = f"{atoll.url}/sessions/{session}/ptys/t_1/ws?client=me"
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {atoll.token}"}) as http,
        http.ws_connect(url) as ws,
    ):
        await ws.receive()
        await ws.send_bytes(b"keys")
        assert await ws.receive_bytes() == b"keys"
        await ws.send_str('{"type":"request_control"}')
        assert await ws.receive_str() == '{"type":"request_control"}'
    assert httpx.QueryParams(atoll.runtime.attached[-1]).get_list("principal") == ["person"]


async def test_files_are_listed_written_read_removed_and_uploaded(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        base = "/sessions/" + (await client.post("/sessions?wait=ready")).json()["session_id"]
        assert (await client.get(f"{base}/files?path=src")).json()["entries"][0]["name"] == "a"
        assert (await client.put(f"{base}/file?path=a", content=b"x")).status_code == 201
        told = await client.get(f"{base}/file?path=a")
        assert told.headers["content-type"] == "application/octet-stream"
        assert told.headers["content-disposition"] == "attachment"
        assert (await client.delete(f"{base}/file?path=a")).status_code == 204
        assert (await client.post(f"{base}/upload?path=b", content=b"y")).status_code == 201
        tree = io.BytesIO()
        with tarfile.open(fileobj=tree, mode="w") as tar:
            tar.addfile(tarfile.TarInfo("c"))
        headers = {"Content-Type": "application/x-tar"}
        unpacked = await client.post(
            f"{base}/upload?path=d", content=tree.getvalue(), headers=headers
        )
        assert unpacked.json() == {"files": 1, "bytes": 1}
    asked = [(method, path, query) for method, path, query, _ in atoll.runtime.asked]
    assert ("PUT", "/files/content", {"path": "b", "parents": "true"}) in asked
    assert ("PUT", "/files/archive", {"path": "d"}) in asked
    assert ("DELETE", "/files", {"path": "a"}) in asked


async def test_nothing_of_it_is_there_without_a_credential(atoll: World) -> None:
    async with client_of(atoll.url) as client:
        assert (await client.post("/sessions")).status_code == 401
        assert (await client.get("/sessions/x/ptys")).status_code == 401
