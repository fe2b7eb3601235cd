"""References of a create over HTTP, against a real git server: what resolves, and what makes no
sandbox and names its field."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from atoll.services.provisioning import references
from atoll.surfaces.cli.transfer.upload import upload
from tests.peers.git_server import GitServer, git_server
from tests.peers.git_tree import Tree, bare_copy, new_tree
from tests.surfaces.repository_world import RepositoryWorld, repository_world

WORDS = "Build it, then check it."
REPO, WORDS_REF = "inputs.repo_ref", "setup_metadata.instructions_ref"
BUNDLE = "inputs.compose_bundle_ref"


@dataclass
class Forge:
    """A control plane, a forge with `o/r` (branches main and next, tag v1), and the tree of it."""

    atoll: RepositoryWorld
    server: GitServer
    tree: Tree
    client: httpx.AsyncClient

    @property
    def url(self) -> str:
        return f"{self.server.url}/o/r"

    async def create(self, **body: Any) -> httpx.Response:
        """Ask for a sandbox; `~` in a text stands for the repository's address."""
        filled = {
            part: {
                k: v.replace("~", self.url) if isinstance(v, str) else v for k, v in told.items()
            }
            for part, told in body.items()
        }
        return await self.client.post(
            "/v1/sandboxes?wait=ready", json={"profile": "shell", **filled}
        )

    async def made(self, **body: Any) -> dict[str, Any]:
        answer = await self.create(**body)
        assert answer.status_code == 201, answer.text
        told: dict[str, Any] = answer.json()
        assert told["state"] == "ready", told
        return told

    async def refused(self, field: str, **body: Any) -> dict[str, Any]:
        """The problem of a create that made nothing."""
        answer = await self.create(**body)
        problem: dict[str, Any] = answer.json()
        assert (answer.status_code, problem.get("field")) == (422, field), answer.text
        assert (await self.client.get("/v1/sandboxes")).json()["sandboxes"] == []
        return problem


@asynccontextmanager
async def forge_at(folder: Path) -> AsyncIterator[Forge]:
    tree = new_tree(folder / "work")
    tree.commit("docs/job.md", WORDS)
    tree.git("tag", "v1")
    tree.git("checkout", "-qb", "next")
    tree.commit("next.txt", "next\n")
    tree.commit("docs/job.md", "Of next.")
    (tree.path / "docs/link.md").symlink_to("/etc/passwd")
    tree.git("add", ".")
    tree.commit("docs/binary.md", "x")
    (tree.path / "docs/binary.md").write_bytes(b"\xff\xfe\x00")
    tree.git("commit", "-qam", "binary")
    tree.git("checkout", "-q", "main")
    bare_copy(tree, folder / "srv" / "o" / "r.git")
    async with repository_world() as atoll, git_server(folder / "srv") as server:
        headers = {"Authorization": f"Bearer {atoll.token}"}
        async with httpx.AsyncClient(base_url=atoll.url, headers=headers, timeout=60) as client:
            yield Forge(atoll, server, tree, client)


@pytest.fixture
async def forge(tmp_path: Path) -> AsyncIterator[Forge]:
    async with forge_at(tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    ("ref", "begins"), [("~", "main"), ("~@next", "next"), ("~@v1", "v1"), ("~.git@main", "main")]
)
async def test_new_branch_begins_where_the_reference_says(
    forge: Forge, ref: str, begins: str
) -> None:
    made = await forge.made(inputs={"repo_ref": ref})
    (repo,) = made["repos"]
    assert (repo["repo_url"], repo["from_branch"]) == (forge.url, begins)
    head = forge.atoll.box(made["sandbox_id"]).run("git rev-parse HEAD")
    assert head == forge.tree.git("rev-parse", begins)


async def test_upload_is_named_by_its_key(forge: Forge) -> None:
    stored = await asyncio.to_thread(upload, forge.atoll.api, forge.tree.path)
    made = await forge.made(inputs={"repo_ref": f"upload:{stored.key}@main"})
    head = forge.atoll.box(made["sandbox_id"]).run("git rev-parse HEAD")
    assert head == forge.tree.git("rev-parse", "main")
    words = f"upload:{stored.key}:docs/job.md"
    told = await forge.made(setup_metadata={"instructions_ref": words})
    assert told["setup_metadata"]["instructions"] == WORDS


async def test_instructions_of_another_repository_are_there_with_the_create(forge: Forge) -> None:
    for ref, words in (("~:docs/job.md", WORDS), ("~@next:/docs/job.md", "Of next.")):
        told = await forge.made(setup_metadata={"instructions_ref": ref})
        assert told["repos"] == []
        setup = told["setup_metadata"]
        assert (setup["instructions"], setup["instructed"]) == (words, False)
        assert setup["instructions_ref"] == ref.replace("~", forge.url)
    made = await forge.made(setup_metadata={"instructions_ref": "~@next:docs/job.md"})
    # They stay what they were, whatever becomes of their repository.
    path = f"/v1/sandboxes/{made['sandbox_id']}"
    forge.server.redirects["/o/r"] = "/nowhere"
    await forge.client.post(f"{path}/recreate?wait=true")
    again = (await forge.client.get(f"{path}?wait=ready")).json()
    assert (again["state"], again["setup_metadata"]["instructions"]) == ("ready", "Of next.")


@pytest.mark.parametrize(
    ("ref", "why"),
    [
        ("~@nowhere", "has no branch 'nowhere'; it has main, next"),
        ("~@0123456789012345678901234567890123456789", "has no branch"),
        ("~-gone", "is not there, has moved, or is private"),
        ("upload:0123456789abcdef", "upload it first"),
    ],
)
async def test_repository_that_does_not_resolve_makes_no_sandbox(
    forge: Forge, ref: str, why: str
) -> None:
    problem = await forge.refused(REPO, inputs={"repo_ref": ref})
    assert problem["code"] == "unresolved_reference"
    assert why in problem["detail"]


@pytest.mark.parametrize(
    "ref",
    [
        *("~@--upload-pack=touch /tmp/x", "~@..", "~@../../x", "~@a\nb", "~:docs/job.md", "~@"),
        *("--upload-pack=x", "ext::sh -c x", "file:///etc", "upload:../../x", "o/r@HEAD", "-o/r@x"),
        *("http://127.0.0.1@a.example/o/r", "~?x=1@v1", "http://169.254.169.254/o/r@v1"),
    ],
)
async def test_hostile_repository_asks_no_git_server(forge: Forge, ref: str) -> None:
    await forge.refused(REPO, inputs={"repo_ref": ref})
    assert forge.server.asked == []


async def test_nul_in_a_reference_is_refused(forge: Forge) -> None:
    answer = await forge.create(inputs={"repo_ref": "~@a\0b"})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert forge.server.asked == []


@pytest.mark.parametrize(
    "ref",
    [
        *("~:none.md", "~@nowhere:docs/job.md", "~-gone:docs/job.md", "~@next:docs/link.md"),
        *("~@next:docs/binary.md", "~:docs", "upload:0123456789abcdef:docs/job.md"),
    ],
)
async def test_instructions_that_do_not_resolve_make_no_sandbox(forge: Forge, ref: str) -> None:
    problem = await forge.refused(WORDS_REF, setup_metadata={"instructions_ref": ref})
    assert problem["code"] == "unresolved_reference"
    assert "passwd" not in problem["detail"]


@pytest.mark.parametrize(
    "ref",
    [
        *(
            "~:../../etc/passwd",
            "~:%2e%2e/x",
            "~@--upload-pack=x:docs/job.md",
            "file:///etc:passwd",
        ),
        *("ext::sh/x:a", "https://[::1]/o/r:a", "-o/r:a", "~:", "repo:docs/job.md", "s3://a/b"),
    ],
)
async def test_hostile_instructions_ask_no_git_server(forge: Forge, ref: str) -> None:
    await forge.refused(WORDS_REF, setup_metadata={"instructions_ref": ref})
    assert forge.server.asked == []


async def test_forge_that_is_away_is_told_by_the_field(forge: Forge) -> None:
    forge.server.redirects["/"] = "http://127.0.0.1:1/"
    problem = await forge.refused(REPO, inputs={"repo_ref": "~"})
    assert problem["code"] == "unresolved_reference"
    away = "http://127.0.0.1:9/o/r"
    for field, body in (
        (REPO, {"inputs": {"repo_ref": away}}),
        (WORDS_REF, {"setup_metadata": {"instructions_ref": f"{away}:a.md"}}),
    ):
        answer = await forge.create(**body)
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (503, "unavailable"), problem
        assert problem["field"] == field


async def test_forge_that_takes_long_is_judged_at_the_start(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "FETCH_SECONDS", 0.3)
    forge.server.gate = asyncio.Event()
    problem = await forge.refused(WORDS_REF, setup_metadata={"instructions_ref": "~:docs/job.md"})
    assert "could not be fetched in" in problem["detail"]
    body = {"profile": "shell", "inputs": {"repo_ref": f"{forge.url}@nowhere"}}
    answer = await forge.client.post("/v1/sandboxes", json=body)
    assert answer.status_code == 202, answer.text
    forge.server.gate.set()
    failed = (await forge.client.get(f"{answer.json()['poll_url']}?wait=ready")).json()
    assert failed["state"] == "failed"
    assert "has no branch 'nowhere'" in failed["reason"]


async def test_repeated_create_is_the_same_whatever_became_of_its_references(
    forge: Forge,
) -> None:
    consumer = {"actor": "agt", "harness": "glas-harness", "session_id": "s"}
    body = {
        "profile": "shell",
        "inputs": {"repo_ref": f"{forge.url}@next"},
        "setup_metadata": {"instructions_ref": f"{forge.url}@next:docs/job.md"},
    }
    headers = {"Idempotency-Key": "once"}
    agents = {**body, "scope": "agent", "consumer": consumer}
    first = [
        (await forge.client.post("/v1/sandboxes?wait=ready", json=body, headers=headers)).json(),
        (await forge.client.post("/v1/sandboxes?wait=ready", json=agents)).json(),
    ]
    assert [one["state"] for one in first] == ["ready", "ready"]
    forge.server.redirects["/"] = "/nowhere"
    forge.server.asked.clear()
    again = [
        (await forge.client.post("/v1/sandboxes", json=body, headers=headers)).json(),
        (await forge.client.post("/v1/sandboxes", json=agents)).json(),
    ]
    assert [one["sandbox_id"] for one in again] == [one["sandbox_id"] for one in first]
    assert forge.server.asked == []
    other = {**agents, "inputs": {"repo_ref": f"{forge.url}@main"}}
    answer = await forge.client.post("/v1/sandboxes", json=other)
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["field"]) == (409, "other_inputs", REPO)


async def test_bundle_may_be_a_folder(forge: Forge) -> None:
    """No backend here runs one; what it names is judged all the same."""
    forge.tree.commit("deploy/docker-compose.yml", "services: {web: {privileged: true}}")
    forge.tree.git("push", "-q", str(forge.server.root / "o/r.git"), "main")
    inputs = {"repo_ref": "~", "compose_bundle_ref": "repo:deploy"}
    problem = await forge.refused(BUNDLE, inputs=inputs)
    assert "services.web" in problem["detail"]
    for none in ("repo:docs", "repo:nothing"):
        problem = await forge.refused(BUNDLE, inputs={**inputs, "compose_bundle_ref": none})
        assert problem["code"] == "unresolved_reference"
