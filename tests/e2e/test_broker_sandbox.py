"""The broker from inside a real sandbox: git with a token it never sees, and secrets."""

import base64
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import httpx
import pytest

from atoll.domain.repository.git_remote import git_environment
from atoll.testing.server import TestServer, test_server
from atoll.wire.contract.policy import CustomSecret, GitRemote, Policy, encode_policy
from tests.peers.git_server import GitServer, git_server

TOKEN = "ghs_canary0123456789abcdefghij"
DOOR = "http://127.0.0.1:8082/git"


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with test_server(start=False) as running:
        (running.home / "config.toml").write_text("allow_loopback_remotes = true\n")
        running.start()
        yield running


@dataclass
class Box:
    """A sandbox, and what its git is told."""

    api: httpx.AsyncClient
    id: str
    env: dict[str, str]

    async def run(self, line: str) -> tuple[int, str]:
        body = {"shell": line, "env": self.env, "cwd": "/workspace", "timeout": 60}
        answer = await self.api.post(f"/v1/sandboxes/{self.id}/exec", json=body)
        told = answer.json()
        said = base64.b64decode(told["stdout"]) + base64.b64decode(told["stderr"])
        return told["exit_code"], said.decode()


@asynccontextmanager
async def box(server: TestServer, policy: Policy, **body: object) -> AsyncIterator[Box]:
    headers = {"Authorization": f"Bearer {server.token}"}
    async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=90) as api:
        asked = {"profile": "shell", **body}
        made = await api.post("/v1/sandboxes?wait=ready", json=asked)
        sandbox = made.json()["sandbox_id"]
        socket = str(server.home / "run" / "b" / sandbox / "rt.sock")
        connector = aiohttp.UnixConnector(socket)
        async with aiohttp.ClientSession(connector=connector) as runtime:
            put = await runtime.put("http://runtime/policy", data=encode_policy(policy))
            assert put.status == 200, await put.text()
            put.release()
        urls = tuple(remote.url for remote in policy.remotes)
        identity = {f"GIT_{who}_{what}": "agent@example.invalid" for who in ("AUTHOR", "COMMITTER")
                    for what in ("NAME", "EMAIL")}  # fmt: skip
        try:
            yield Box(api, sandbox, {**identity, **dict(git_environment(urls, DOOR))})
        finally:
            await api.delete(f"/v1/sandboxes/{sandbox}?wait=true")


@pytest.fixture
async def remote(tmp_path: Path) -> AsyncIterator[GitServer]:
    bare, work = tmp_path / "o" / "r.git", tmp_path / "work"
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"]
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(work)], check=True)
    (work / "README.md").write_text("# project\n")
    (work / "large").write_bytes(bytes(range(256)) * 8192)
    subprocess.run(["git", "-C", str(work), "add", "."], check=True)
    subprocess.run(["git", "-C", str(work), *identity, "commit", "-qm", "start"], check=True)
    subprocess.run(["git", "-C", str(work), "push", "-q", str(bare), "main"], check=True)
    async with git_server(tmp_path) as serving:
        serving.token = TOKEN
        yield serving


def refs(remote: GitServer) -> str:
    bare = str(remote.root / "o" / "r.git")
    done = subprocess.run(["git", "-C", bare, "for-each-ref"], capture_output=True, text=True)
    return done.stdout


async def test_git_inside_fetches_and_pushes_what_the_rules_allow_and_never_sees_the_token(
    server: TestServer, remote: GitServer
) -> None:
    url = f"{remote.url}/o/r.git"
    allowed = GitRemote(url=url, secret_id="s", version=1, value=TOKEN, push=("agent/*",))
    async with box(server, Policy(revision=1 << 60, remotes=(allowed,), dev=True)) as inside:
        code, said = await inside.run(f"git clone -q {url} r && cd r && git log --oneline")
        assert code == 0, said
        assert "start" in said
        code, said = await inside.run(
            "cd r && git switch -qc agent/x && head -c 3000000 /dev/urandom > more && "
            "git add more && git commit -qm more && git push -q origin agent/x && git fetch -q"
        )
        assert code == 0, said
        assert "refs/heads/agent/x" in refs(remote)
        before = refs(remote)
        for words, why in (
            ("HEAD:main", "only agent/* may be pushed"),
            (":agent/x", "deleting is not allowed"),
            ("HEAD:agent/y HEAD:refs/tags/v1", "only agent/* may be pushed"),
        ):
            code, said = await inside.run(f"cd r && git push origin {words}")
            assert code != 0 and why in said, said
        assert refs(remote) == before
        code, said = await inside.run(
            f"env; cat r/.git/config; curl -si {DOOR}/; git -C r remote -v"
        )
        assert TOKEN not in said and base64.b64encode(TOKEN.encode()).decode()[:20] not in said
        code, said = await inside.run(f"git -c http.proxy= clone {remote.url}/o/other r2")
        assert code != 0


async def test_push_of_a_laid_out_tree_goes_out_where_it_may_and_is_held_elsewhere(
    server: TestServer, remote: GitServer
) -> None:
    url, remote.token = f"{remote.url}/o/r", ""
    allowed = GitRemote(url=url, secret_id="s", version=1, value=TOKEN, push=("agent/*",))
    policy = Policy(revision=1 << 60, remotes=(allowed,), dev=True)
    repos = [{"repo_url": url, "branch": "fix"}]
    async with box(server, policy, name="pushing", repos=repos) as inside:
        remote.token = TOKEN
        inside.env.update(git_environment((url,), DOOR, pushed=(url,)))
        commit = "echo more > more; git add more; git commit -qm more; "
        code, said = await inside.run(f"{commit} git push -q origin HEAD:agent/x")
        assert (code, "refs/heads/agent/x" in refs(remote)) == (0, True), said
        before = refs(remote)
        code, said = await inside.run("git push origin HEAD:fix")
        assert code == 0 and "Held for the owner of pushing: branch fix" in said, said
        code, said = await inside.run("git push origin HEAD:agent/y HEAD:else")
        assert code != 0 and "branch else" in said and "refused together" in said, said
        assert refs(remote) == before
        held = (await inside.api.get(f"/v1/sandboxes/{inside.id}/pushes")).json()["pushes"]
        assert {one["ref"] for one in held} == {
            "refs/atoll/pushed/pushing/fix", "refs/atoll/pushed/pushing/else",
        }  # fmt: skip
        waiting = (await inside.api.get("/v1/inbox")).json()["items"]
        assert [one["kind"] for one in waiting] == ["push", "push"]


async def test_secret_inside_is_refused_until_a_person_approves(server: TestServer) -> None:
    secret = CustomSecret(secret_id="s", name="MY_API_KEY", version=1, value="canary-0123456789ab")
    async with box(server, Policy(revision=1 << 60, customs=(secret,))) as inside:
        code, said = await inside.run(
            'curl -s -X POST "http://localhost:8082/broker/custom/MY_API_KEY'
            '?target=https://api.example.com/v1/chat" -d "{}"'
        )
        assert (code, said) == (
            0,
            '{"error":"domain_not_approved","domain":"api.example.com","secret":"MY_API_KEY",'
            '"message":"This domain requires owner approval before the secret can be sent."}',
        )
