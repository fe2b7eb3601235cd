"""What a set-up left, of a remote that two people use: what an agent's branch plants in it reaches
neither another branch nor another person, and a default branch that moves has another."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.waiting.test_prebuilds import KEPT, lines, settled
from tests.peers.api import Api, api_of
from tests.peers.git_server import git_server
from tests.peers.git_tree import Tree, bare_copy, new_tree
from tests.peers.identity.oidc_provider import OidcProcess, oidc_provider

pytestmark = pytest.mark.timeout(180)

CONFIG = """
allow_loopback_remotes = true

[auth]
mode = "oidc"

[[auth.realms]]
realm = "corp"
name = "Example Corp"
issuer = "{issuer}"
client_id = "atoll"
client_secret_env = "ATOLL_TEST_OIDC_SECRET"
"""
PLANT = r"""
mkdir -p node_modules .git/hooks
for hook in post-checkout post-commit post-index-change reference-transaction; do
  printf '#!/bin/sh\necho %s >> /tmp/ran\n' $hook > .git/hooks/$hook
  chmod +x .git/hooks/$hook
done
git config core.hooksPath .git/hooks
git config core.fsmonitor 'echo monitor >> /tmp/ran; false'
echo planted > node_modules/planted
"""
PLANTED = "ls node_modules .git/hooks 2> /dev/null; git config --get-regexp '^core[.](hooks|fsm)'"
WORK = "git commit -q --allow-empty -m mine; git checkout -q -b next; git status; cat /tmp/ran"


@dataclass
class Team:
    """Two members of an organization, and a repository that both see."""

    ann: Api
    bob: Api
    url: str
    tree: Tree


@pytest.fixture
def provider() -> Iterator[OidcProcess]:
    with oidc_provider({"sub": "bob", "name": "Bob Ray"}) as made:
        yield made


@pytest.fixture
def server(provider: OidcProcess) -> Iterator[TestServer]:
    with test_server({"ATOLL_TEST_OIDC_SECRET": "of-a-test"}, start=False) as made:
        (made.home / "config.toml").write_text(CONFIG.format(issuer=provider.issuer))
        made.start()
        yield made


@pytest.fixture
async def team(server: TestServer, provider: OidcProcess, tmp_path: Path) -> AsyncIterator[Team]:
    tree = repository(tmp_path / "work")
    bare_copy(tree, tmp_path / "served" / "r.git")
    async with git_server(tmp_path / "served") as remote:
        with api_of(server) as ann:
            bob = Api(server)
            bob.client.close()
            bob.client = await asyncio.to_thread(joined, ann, provider)
            yield Team(ann, bob, f"{remote.url}/r.git", tree)
            bob.client.close()


def repository(place: Path) -> Tree:
    """A repository whose branch `agent` changes what its set-up runs, and no file that says
    versions."""
    tree = new_tree(place)
    tree.commit(".gitignore", "node_modules\n")
    tree.commit("package-lock.json", "one\n")
    tree.commit("part.sh", "mkdir -p node_modules; cp package-lock.json node_modules/plain\n")
    tree.commit(".atoll.yaml", "setup: ['for each in part*; do sh \"$each\"; done']\n")
    tree.git("checkout", "-qb", "agent")
    tree.commit("part.sh", PLANT)
    tree.git("checkout", "-q", "main")
    return tree


def joined(ann: Api, provider: OidcProcess) -> httpx.Client:
    """Somebody's browser, once they have taken Ann's invitation."""
    ann.call("POST", "/v1/organizations", json={"slug": "acme", "name": "Acme"})
    made = ann.call("POST", "/v1/organizations/acme/invitations", json={"role": "member"})
    base = ann.server.url
    browser = httpx.Client(base_url=base, headers={"Origin": base}, timeout=90)
    away = browser.get("/auth/oidc/corp/login?next=join").headers["location"]
    back = browser.get(provider.confirm(away, "bob")).headers["location"]
    ticket = urlsplit(back).fragment.removeprefix("login=")
    entered = browser.post("/auth/login", json={"ticket": ticket}).json()
    browser.headers["Atoll-Page-Key"] = entered["page_key"]
    accepted = browser.post("/v1/invitations/accept", json={"secret": made["secret"]})
    assert accepted.status_code == 200, accepted.text
    return browser


def new(api: Api, team: Team, name: str, branch: str) -> dict[str, Any]:
    """A sandbox of the branch whose set-up its person approved, once that is over and settled."""
    repo = {"repo_url": team.url, "from_branch": branch}
    shown = api.call("GET", "/v1/projects/file", params=repo)["digest"]
    decision = {"repository": repo, "shown": shown, "decision": "approved"}
    api.call("POST", "/v1/projects/decision", json=decision)
    project = {"digest": shown, "setup": "now"}
    api.create(name=name, repos=[{**repo, "branch": f"work-{name}"}], project=project)
    return settled(api, name)


def push(team: Team, name: str, text: str) -> None:
    """Move the default branch, and have the server learn of it: a start within seconds of another
    does not ask the remote."""
    team.tree.commit(name, text)
    team.tree.git("push", "-q", "origin", "main")
    team.ann.call("POST", "/v1/repositories/fetch", json={"repo_url": team.url})


async def test_setup_of_an_agents_branch_runs_nothing_elsewhere(team: Team) -> None:
    await asyncio.to_thread(_attack, team)


def _attack(team: Team) -> None:
    people = [api.call("GET", "/v1/me") for api in (team.ann, team.bob)]
    assert len({person["id"] for person in people}) == 2, people
    new(team.ann, team, "hostile", "agent")
    assert KEPT in lines(team.ann, "hostile"), lines(team.ann, "hostile")
    # The same person's next sandbox of that branch has it all, as a set-up would leave it.
    again = new(team.ann, team, "again", "agent")
    assert again["project"]["prebuilt_at"] is not None
    assert "hooks" in team.ann.run("again", PLANTED)
    # Nothing of it ran when the tree was brought to its branch.
    assert "post-checkout" not in team.ann.run("again", "cat /tmp/ran || true")
    # Another person's own set-up runs, also of that branch, and of all others nothing is planted.
    assert new(team.bob, team, "bobs", "agent")["project"]["prebuilt_at"] is None
    for api, name in ((team.ann, "anns-main"), (team.bob, "bobs-main")):
        assert new(api, team, name, "main")["project"]["prebuilt_at"] is None
        assert api.run(name, f"{PLANTED}; true") == "node_modules:\nplain\n"
        assert "/tmp/ran: No such file" in api.run(name, f"{WORK} || true")
    # Nor has anybody of the organization what the other person's own branch left.
    second = new(team.bob, team, "bobs-again", "main")
    assert second["project"]["prebuilt_at"] is not None
    assert team.bob.run("bobs-again", f"{PLANTED}; true") == "node_modules:\nplain\n"


async def test_default_branch_that_moved_has_its_setup_run_and_kept_anew(team: Team) -> None:
    await asyncio.to_thread(_move, team)


def _move(team: Team) -> None:
    ann = team.ann
    new(ann, team, "first", "main")
    assert KEPT in lines(ann, "first")
    # A branch begins as the default branch left it, while both say the same versions.
    other = new(ann, team, "other", "agent")
    assert other["project"]["prebuilt_at"] is not None
    assert ann.run("other", f"{PLANTED}; true") == "node_modules:\nplain\n"
    push(team, "package-lock.json", "two\n")
    moved = new(ann, team, "moved", "main")
    assert moved["project"]["prebuilt_at"] is None
    assert KEPT in lines(ann, "moved")
    push(team, "README.md", "newer\n")
    last = new(ann, team, "last", "main")
    assert last["project"]["prebuilt_at"] is not None
    assert ann.run("last", "cat node_modules/plain README.md") == "two\nnewer\n"
