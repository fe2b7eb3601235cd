"""Pull requests of a sandbox's branch: pushed by a real git inside, opened at a forge in memory."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from atoll.adapters.vaults.in_memory import InMemoryVault
from atoll.domain.errors import Conflict, Forbidden, Invalid, NotFound
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SecretId
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.domain.repository.forge import NewPull, PullRequest
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.sandboxes.task import Task
from atoll.domain.secrets.secret import Secret, Use, bound_to
from atoll.domain.work.record import PullRecord
from atoll.ports.store.secrets import Kept
from atoll.services.forges.forge_tokens import ForgeTokens
from atoll.services.forges.pull_requests import PullOffer, PullRequests
from atoll.testing import FakeForge
from atoll.wire.words.events import ActorKind
from atoll.wire.words.forges import ForgeKind, PullState
from atoll.wire.words.secrets import Purpose
from tests.peers.boxed_runtime import BoxedRuntime
from tests.services.library.test_workspaces import NOW, World, world

__all__ = ["world"]

SITE, TOKEN = "https://forge.example", "tea-token"
REMOTE = "/workspace/.git/remote.git"
"""Stands for the repository at the forge."""

TITLE = "Fix the parser"
OFFER = PullOffer(TITLE, "It read two spaces.")
STRANGER = Principal(PERSONAL_ORG, PrincipalId("stranger"), ActorKind.PERSON)


class Scene:
    """A sandbox whose repository is at a forge, which takes pushes when `open_door` was called."""

    def __init__(self, sandbox: Sandbox, box: BoxedRuntime) -> None:
        here = replace(sandbox.repos[0], repo_url=f"{SITE}/o/r", began_from="main")
        self.sandbox = replace(sandbox, repos=(here,))
        self.box = box
        self.forge, self.vault, self.notes = FakeForge(), InMemoryVault(), list[Any]()
        self.kept: list[Kept] = []
        self.forge.keep("o/r", {"main": "a" * 40})
        self.known: PullRecord | None = None
        self.pulls = PullRequests(
            cast(Any, self),
            cast(Any, self),
            forge=self.forge,
            tokens=ForgeTokens(cast(Any, self), self.vault),
            works=cast(Any, self),
            log=cast(Any, self),
        )

    def open_door(self) -> None:
        """Let pushes out, as the sandbox's door does where a secret allows it."""
        self.box.run(f"git config url.{REMOTE}.pushInsteadOf {SITE}/o/r")

    def give_token(self, **use: Any) -> None:
        """Set the owner's secret for the forge."""
        used = Use(Purpose.FORGE, **{"target": SITE, "forge": ForgeKind.GITEA, **use})
        secret = Secret(
            SecretId("sec_1"), PERSONAL_ORG, self.sandbox.owner, "FORGE", "person", used, 1, "f",
            "", 9, NOW, NOW,
        )  # fmt: skip
        self.kept = [Kept(secret, self.vault.seal(TOKEN, bound_to(secret)))]

    async def get(self, _caller: Principal, _ref: str) -> Sandbox:
        return self.sandbox

    async def runtime(self, _caller: Principal, _ref: str) -> Any:
        return self.sandbox, self.box

    async def one(self, _sandbox: Sandbox) -> Any:
        return SimpleNamespace(pull=self.known)

    async def append(self, _caller: Principal, _sandbox: Sandbox, kind: str, payload: Any) -> None:
        self.notes.append((kind, payload))
        self.known = msgspec.convert(payload, PullRecord)

    def begin_with(self, issue: str, prompt: str = "Mend it\n\nSoon.") -> None:
        """Let the sandbox have a task that began with an issue."""
        self.sandbox = replace(self.sandbox, task=Task(prompt, issue=issue))

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Any]:
        async def sealed(*_: object) -> list[Kept]:
            return self.kept

        yield SimpleNamespace(secrets=SimpleNamespace(sealed=sealed))

    def arrives(self, branch: str = "fix") -> str:
        """Show the forge what its repository has by now; return the commit."""
        commit = self.box.run(f"git --git-dir {REMOTE} rev-parse refs/heads/{branch}")
        self.forge.kept["o/r"].branches[branch] = commit
        return commit


@dataclass
class Arriving:
    """A forge's `commit_of` that sees the repository that was pushed to."""

    scene: Scene
    asked: Callable[..., Any]

    async def __call__(self, at: Any, branch: str) -> Any:
        self.scene.arrives(branch)
        return await self.asked(at, branch)


@pytest.fixture
async def scene(world: World) -> Scene:
    sandbox, box = await world.laid_out(world.repo())
    box.run(f"echo inside > b.txt; git add -A; git commit -qm inside; git init -q --bare {REMOTE}")
    return Scene(sandbox, box)


async def test_branch_is_pushed_and_its_pull_request_opened_once(scene: Scene) -> None:
    scene.open_door()
    scene.give_token()
    scene.box.run(
        "mkdir -p .git/hooks; cd .git/hooks; printf '#!/bin/sh\\nexit 1\\n' > pre-push; chmod +x *"
    )
    scene.forge.commit_of = Arriving(scene, scene.forge.commit_of)  # type: ignore[method-assign]
    made = await scene.pulls.open(LOCAL_PERSON, "r-fix", OFFER)
    assert not made.existed and made.url == f"{SITE}/o/r/pulls/1"
    assert (made.pull.branch, made.pull.base) == ("fix", "main")
    assert made.pull.commit == scene.box.run("git rev-parse HEAD")
    ((kind, payload),) = scene.notes
    assert (kind, payload["pull"]) == ("git.pull_opened", 1)
    assert set(scene.forge.tokens) == {TOKEN} and TOKEN not in repr(payload)
    again = await scene.pulls.open(LOCAL_PERSON, "r-fix", replace(OFFER, branch="fix"))
    assert again == replace(made, existed=True) and len(scene.notes) == 1
    for more in ({"title": "Else"}, {"text": "Else."}, {"draft": True}):
        with pytest.raises(Conflict) as differs:
            await scene.pulls.open(LOCAL_PERSON, "r-fix", replace(OFFER, branch="fix", **more))
        assert [differs.value.field] == [*more]
    draft = replace(OFFER, base="other", draft=True)
    scene.forge.kept["o/r"].branches["other"] = "c" * 40
    scene.forge.settle(made.pull, PullState.CLOSED)
    assert (await scene.pulls.open(LOCAL_PERSON, "r-fix", draft)).pull.draft
    assert scene.forge.opened == [
        NewPull("fix", "main", TITLE, OFFER.text),
        NewPull("fix", "other", TITLE, OFFER.text, draft=True),
    ]


async def test_branch_that_was_held_is_no_pull_request(scene: Scene) -> None:
    scene.give_token()
    with pytest.raises(Conflict) as refused:
        await scene.pulls.open(LOCAL_PERSON, "r-fix", OFFER)
    assert refused.value.code == "not_pushed" and "atoll secret set" in refused.value.message
    assert scene.forge.kept["o/r"].pulls == [] and scene.notes == []


@pytest.mark.parametrize(
    "use", [None, {"target": "https://other.example"}, {"forge": None, "purpose": Purpose.CUSTOM}]
)
async def test_repository_without_a_secret_for_its_forge_has_none(
    scene: Scene, use: dict[str, Any] | None
) -> None:
    if use is not None and "purpose" not in use:
        scene.give_token(**use)
    with pytest.raises(NotFound) as refused:
        await scene.pulls.of(LOCAL_PERSON, "r-fix")
    assert refused.value.code == "no_forge" and scene.forge.tokens == []


async def test_pull_requests_are_those_who_manages_the_sandbox(scene: Scene) -> None:
    scene.give_token()
    for asked in (
        scene.pulls.of(STRANGER, "r-fix"),
        scene.pulls.one(STRANGER, "r-fix", 1),
        scene.pulls.branches(STRANGER, "r-fix"),
        scene.pulls.open(STRANGER, "r-fix", OFFER),
    ):
        with pytest.raises(Forbidden):
            await asked
    assert scene.forge.tokens == []


async def test_discussion_of_a_branchs_own_pull_request_is_shown(scene: Scene) -> None:
    scene.give_token()
    scene.open_door()
    scene.forge.commit_of = Arriving(scene, scene.forge.commit_of)  # type: ignore[method-assign]
    made = await scene.pulls.open(LOCAL_PERSON, "r-fix", OFFER)
    scene.forge.discuss("o/r")
    shown = await scene.pulls.one(LOCAL_PERSON, "r-fix", made.pull.number)
    assert [one.text for one in shown.comments] == ["Why two?", "Not yet."]
    assert [one.name for one in shown.checks] == ["lint", "tests"]
    with pytest.raises(NotFound):
        await scene.pulls.one(LOCAL_PERSON, "r-fix", made.pull.number, branch="other")
    (listed,) = await scene.pulls.of(LOCAL_PERSON, "r-fix")
    assert (listed.pull.state, listed.url) == (PullState.OPEN, made.url)
    scene.forge.settle(made.pull, PullState.MERGED)
    await scene.pulls.of(LOCAL_PERSON, "r-fix")
    kind, payload = scene.notes[-1]
    assert (kind, payload["state"]) == ("git.pull_changed", "merged")
    assert await scene.pulls.branches(LOCAL_PERSON, "r-fix") == ("main", "fix")
    assert await scene.pulls.repositories(LOCAL_PERSON, "FORGE") == (f"{SITE}/o/r",)
    with pytest.raises(NotFound):
        await scene.pulls.repositories(LOCAL_PERSON, "NONE")


@pytest.mark.parametrize(
    ("offer", "field"),
    [
        (replace(OFFER, branch="-evil"), "branch"),
        (replace(OFFER, base="a b"), "base"),
        (replace(OFFER, base="fix"), "base"),
        (replace(OFFER, title=" "), "title"),
    ],
)
async def test_offer_that_cannot_be_is_refused_before_the_forge_hears_of_it(
    scene: Scene, offer: PullOffer, field: str
) -> None:
    scene.give_token()
    with pytest.raises(Invalid) as refused:
        await scene.pulls.open(LOCAL_PERSON, "r-fix", offer)
    assert refused.value.field == field and scene.forge.tokens == []


async def test_repository_that_the_sandbox_does_not_have_is_refused(scene: Scene) -> None:
    with pytest.raises(Invalid) as refused:
        await scene.pulls.open(LOCAL_PERSON, "r-fix", replace(OFFER, repo=3))
    assert refused.value.field == "repo"


async def test_branch_that_is_not_inside_is_not_found(scene: Scene) -> None:
    scene.give_token()
    with pytest.raises(NotFound):
        await scene.pulls.open(LOCAL_PERSON, "r-fix", replace(OFFER, branch="gone"))
    scene.box.run("git checkout -q --detach")
    with pytest.raises(NotFound):
        await scene.pulls.open(LOCAL_PERSON, "r-fix", OFFER)


async def test_pull_request_answers_the_issue_that_the_task_began_with(scene: Scene) -> None:
    scene.open_door()
    scene.give_token()
    scene.begin_with(f"{SITE}/o/r/issues/12")
    scene.forge.commit_of = Arriving(scene, scene.forge.commit_of)  # type: ignore[method-assign]
    made = await scene.pulls.open(LOCAL_PERSON, "r-fix", PullOffer())
    assert (made.pull.title, made.pull.text) == ("Mend it", "Closes #12")
    again = await scene.pulls.open(LOCAL_PERSON, "r-fix", PullOffer())
    assert again == replace(made, existed=True)
    with pytest.raises(Conflict) as differs:
        await scene.pulls.open(LOCAL_PERSON, "r-fix", PullOffer(text="Another."))
    assert differs.value.field == "text"


async def test_task_that_began_with_a_pull_request_pushes_to_its_branch(scene: Scene) -> None:
    scene.open_door()
    scene.give_token()
    there = scene.forge.kept["o/r"]
    pull = PullRequest(1, "Theirs", PullState.OPEN, False, "fix", "next", "d" * 40, "Long.")
    there.pulls.append(pull)
    scene.begin_with(f"{SITE}/O/r/pulls/1")
    scene.forge.commit_of = Arriving(scene, scene.forge.commit_of)  # type: ignore[method-assign]
    pushed = await scene.pulls.open(LOCAL_PERSON, "r-fix", PullOffer())
    assert pushed.existed and pushed.pull.number == 1 and scene.forge.opened == []
    assert pushed.pull.commit == scene.box.run(f"git --git-dir {REMOTE} rev-parse fix")
    ((kind, payload),) = scene.notes
    assert (kind, payload["pull"], payload["base"]) == ("git.pull_updated", 1, "next")
    await scene.pulls.open(LOCAL_PERSON, "r-fix", PullOffer())
    assert len(scene.notes) == 1
    scene.box.run("echo more > c.txt; git add -A; git commit -qm more")
    await scene.pulls.open(LOCAL_PERSON, "r-fix", PullOffer())
    assert [kind for kind, _ in scene.notes] == ["git.pull_updated"] * 2


async def test_branch_that_moved_at_the_forge_is_kept_and_its_person_told_to_sync(
    scene: Scene,
) -> None:
    scene.open_door()
    scene.give_token()
    scene.box.run(
        f"echo theirs > d.txt; git add -A; git commit -qm theirs; git push -q {REMOTE} HEAD:fix; "
        "git reset -q --hard HEAD~1"
    )
    theirs = scene.arrives()
    scene.box.run("echo mine > e.txt; git add -A; git commit -qm mine")
    with pytest.raises(Conflict) as refused:
        await scene.pulls.open(LOCAL_PERSON, "r-fix", OFFER)
    assert refused.value.code == "target_moved"
    assert f"atoll sync {scene.sandbox.name} --onto fix" in refused.value.message
    assert scene.arrives() == theirs and scene.notes == []


async def test_offer_without_a_title_needs_a_task(scene: Scene) -> None:
    scene.give_token()
    with pytest.raises(Invalid) as refused:
        await scene.pulls.open(LOCAL_PERSON, "r-fix", PullOffer())
    assert refused.value.field == "title"
