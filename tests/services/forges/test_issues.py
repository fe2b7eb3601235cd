"""Issues by their address: the task that each is, by a token of the person who asks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from atoll.adapters.vaults.in_memory import InMemoryVault
from atoll.domain.errors import Conflict, Invalid, NotFound
from atoll.domain.ids import PERSONAL_ORG, SecretId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.repository.forge import ForgeRepository, NewPull
from atoll.domain.secrets.secret import Secret, Use, bound_to
from atoll.ports.store.secrets import Kept
from atoll.services.forges.forge_tokens import ForgeTokens
from atoll.services.forges.issues import Issues, IssueTask
from atoll.testing import FakeForge
from atoll.wire.words.forges import ForgeKind, IssueKind, PullState
from atoll.wire.words.secrets import Purpose
from tests.services.library.test_workspaces import NOW

SITE, TOKEN = "https://forge.example", "tea-token"
AT = ForgeRepository(ForgeKind.GITEA, SITE, "o", "r", TOKEN)


class Scene:
    """A person with a token for one forge, and the branches of their sandboxes."""

    def __init__(self) -> None:
        self.forge, self.vault = FakeForge(), InMemoryVault()
        self.forge.keep("o/r", {"main": "a" * 40, "fix": "b" * 40})
        self.branches: list[str] = []
        self.kept = [self.secret("sec_1", "person", SITE)]
        self.issues = Issues(
            cast(Any, self),
            tokens=ForgeTokens(cast(Any, self), self.vault),
            forge=self.forge,
            reader=self.forge,
        )

    def secret(self, name: str, scope: str, site: str) -> Kept:
        """Return a secret for a forge."""
        use = Use(Purpose.FORGE, target=site, forge=ForgeKind.GITEA)
        secret = Secret(
            SecretId(name), PERSONAL_ORG, LOCAL_PERSON.id, "FORGE", scope, use, 1, "f", "", 9, NOW,
            NOW,
        )  # fmt: skip
        return Kept(secret, self.vault.seal(f"{TOKEN}-{name}", bound_to(secret)))

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Any]:
        async def sealed(*_: object) -> list[Kept]:
            return self.kept

        async def unfinished(*_: object) -> list[Any]:
            return [
                SimpleNamespace(repos=[SimpleNamespace(branch=branch)]) for branch in self.branches
            ]

        yield SimpleNamespace(
            secrets=SimpleNamespace(sealed=sealed), sandboxes=SimpleNamespace(unfinished=unfinished)
        )

    async def find(self, path: str) -> IssueTask:
        """Return the task at an address of the forge."""
        return await self.issues.find(LOCAL_PERSON, f"{SITE}{path}")


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_issue_is_a_task_on_a_branch_of_its_own(scene: Scene) -> None:
    number = scene.forge.write_issue("o/r", "Fix the parser", "It reads two spaces.")
    found = await scene.find(f"/o/r/issues/{number}#x")
    assert (found.kind, found.state) == (IssueKind.ISSUE, PullState.OPEN)
    assert (found.url, found.repo_url) == (f"{SITE}/o/r/issues/1", f"{SITE}/o/r")
    assert (found.title, found.branch) == ("Fix the parser", "fix-parser-1")
    assert found.prompt.startswith("Fix the parser\n\nIt reads two spaces.\n\n")
    assert set(scene.forge.tokens) == {f"{TOKEN}-sec_1"} and TOKEN not in repr(found)


async def test_branch_is_one_that_neither_forge_nor_sandboxes_have(scene: Scene) -> None:
    number = scene.forge.write_issue("o/r", "Fix the parser")
    scene.branches = ["fix-parser-1"]
    scene.forge.kept["o/r"].branches |= {"fix-parser-1-2": "c" * 40}
    assert (await scene.find(f"/o/r/issues/{number}")).branch == "fix-parser-1-3"


@pytest.mark.parametrize("word", ["issues", "pulls", "pull"])
async def test_pull_request_is_a_task_on_its_own_branch(scene: Scene, word: str) -> None:
    pull = await scene.forge.open_pull(AT, NewPull("fix", "main", "Fix it", "Long."))
    scene.forge.settle(pull, PullState.MERGED)
    found = await scene.find(f"/o/r/{word}/{pull.number}/files")
    assert (found.kind, found.branch, found.state) == (IssueKind.PULL, "fix", PullState.MERGED)
    assert found.url == f"{SITE}/o/r/pulls/1" and "leads into main" in found.prompt


async def test_pull_request_of_a_fork_is_refused_with_what_to_do(scene: Scene) -> None:
    pull = await scene.forge.open_pull(AT, NewPull("fix", "main", "Fix it"))
    scene.forge.kept["o/r"].pulls = [replace(pull, fork="ada/r")]
    with pytest.raises(Conflict) as refused:
        await scene.find("/o/r/pulls/1")
    assert refused.value.code == "fork" and "ada/r" in refused.value.message


async def test_forge_without_a_token_is_not_asked(scene: Scene) -> None:
    scene.kept = [
        scene.secret("sec_2", "sandbox:sb_1", SITE),
        scene.secret("sec_3", "person", "https://other.example"),
    ]
    with pytest.raises(NotFound) as refused:
        await scene.find("/o/r/issues/1")
    assert refused.value.code == "no_forge" and scene.forge.tokens == []
    with pytest.raises(Invalid):
        await scene.issues.find(LOCAL_PERSON, "http://169.254.169.254/o/r/issues/1")
    assert scene.forge.tokens == []


async def test_token_of_the_person_takes_precedence_over_the_organizations(scene: Scene) -> None:
    scene.kept = [scene.secret("sec_0", "organization", SITE), *scene.kept]
    number = scene.forge.write_issue("o/r", "Fix")
    await scene.find(f"/o/r/issues/{number}")
    assert set(scene.forge.tokens) == {f"{TOKEN}-sec_1"}
