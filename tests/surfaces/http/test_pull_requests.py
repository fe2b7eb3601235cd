"""The routes of pull requests: what a forge in memory has, by a token that no answer holds."""

from collections.abc import Mapping

import httpx

from atoll.domain.repository.forge import ForgeRepository, NewPull
from atoll.wire.words.forges import ForgeKind
from tests.surfaces.http.world import World, client_of

SITE, TOKEN = "https://forge.example", "tea-token-of-somebody"
SECRET = {"name": "TEA", "value": TOKEN, "kind": "forge", "forge": "gitea", "remote": SITE}
AT = ForgeRepository(ForgeKind.GITEA, SITE, "o", "r", TOKEN)


async def made(client: httpx.AsyncClient, **more: object) -> str:
    """Make a sandbox of the repository; return where its pull requests are."""
    body = {"name": "box", "repos": [{"repo_url": f"{SITE}/o/r"}], **more}
    answer = await client.post("/v1/sandboxes", json=body)
    assert answer.status_code in (201, 202), answer.text
    sandbox: Mapping[str, str] = answer.json()
    return f"/v1/sandboxes/{sandbox['sandbox_id']}"


async def test_pull_requests_are_shown_by_the_token_of_their_forge(atoll: World) -> None:
    atoll.forge.keep("o/r", {"main": "a" * 40, "fix": "b" * 40})
    await atoll.forge.open_pull(AT, NewPull("fix", "main", "Fix it"))
    atoll.forge.discuss("o/r")
    async with client_of(atoll.url, atoll.token) as client:
        box = await made(client)
        before = await client.get(f"{box}/pull-requests")
        secret = await client.post("/v1/secrets", json=SECRET)
        listed = await client.get(f"{box}/pull-requests?branch=fix")
        one = await client.get(f"{box}/pull-requests/1?branch=fix")
        others = await client.get(f"{box}/pull-requests/1?branch=main")
        branches = await client.get(f"{box}/forge-branches")
        repositories = await client.get("/v1/forges/TEA/repositories")
    assert (before.status_code, before.json()["code"]) == (404, "no_forge")
    shown = secret.json()
    assert (shown["kind"], shown["forge"], shown["remote"]) == ("forge", "gitea", SITE)
    (pull,) = listed.json()["pull_requests"]
    assert (pull["number"], pull["state"], pull["url"]) == (1, "open", f"{SITE}/o/r/pulls/1")
    assert [one["state"] for one in one.json()["checks"]] == ["passed", "failed"]
    assert one.json()["comments"][0] == {
        "id": "line-5", "author": "ada", "text": "Why two?", "at": "2026-01-02T00:00:00.000Z",
        "path": "src/a.py", "line": 3,
    }  # fmt: skip
    assert others.status_code == 404
    assert branches.json() == {"names": ["main", "fix"]}
    assert repositories.json() == {"names": [f"{SITE}/o/r"]}
    for answer in (secret, listed, one, branches, repositories):
        assert TOKEN not in answer.text + str(answer.headers)
    assert set(atoll.forge.tokens) == {TOKEN}


async def test_token_of_a_forge_enters_no_sandbox(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        refused = await client.post("/v1/secrets", json=SECRET | {"env": "TEA_TOKEN"})
        exposed = await client.post("/v1/secrets", json=SECRET | {"broker_protected": False})
        elsewhere = await client.post("/v1/secrets", json=SECRET | {"remote": f"{SITE}/"})
    assert [one.json()["field"] for one in (refused, exposed, elsewhere)] == [
        "env",
        "env",
        "remote",
    ]


async def test_issue_is_the_task_of_a_sandbox_and_shown_with_it(atoll: World) -> None:
    atoll.forge.keep("o/r", {"main": "a" * 40})
    number = atoll.forge.write_issue("o/r", "Fix the parser", "It reads two spaces.")
    address = f"{SITE}/o/r/issues/{number}"
    async with client_of(atoll.url, atoll.token) as client:
        before = await client.get("/v1/forges/issues", params={"address": address})
        await client.post("/v1/secrets", json=SECRET)
        found = await client.get("/v1/forges/issues", params={"address": f"{address}?x#y"})
        none = await client.get("/v1/forges/issues", params={"address": f"{SITE}/o/r"})
        task = found.json()
        body = {
            "agent": "codex",
            "prompt": task["prompt"],
            "task": {"issue": task["url"]},
            "repos": [{"repo_url": task["repo_url"], "branch": task["branch"]}],
        }
        box = await client.post("/v1/sandboxes", json=body)
        odd = await client.post("/v1/sandboxes", json=body | {"task": {"issue": "somewhere"}})
    assert (before.status_code, before.json()["code"]) == (404, "no_forge")
    assert (none.status_code, none.json()["field"]) == (422, "address")
    assert {name: task[name] for name in ("kind", "url", "number", "title", "state")} == {
        "kind": "issue", "url": address, "number": 1, "title": "Fix the parser", "state": "open",
    }  # fmt: skip
    assert (task["repo_url"], task["branch"]) == (f"{SITE}/o/r", "fix-parser-1")
    assert box.json()["task"]["issue"] == address
    assert (odd.status_code, odd.json()["field"]) == (422, "task.issue")
    assert set(atoll.forge.tokens) == {TOKEN} and TOKEN not in found.text
