"""The contract of a Forge: pull requests at a site that hosts repositories.

Subclass `ForgeContract` in a test module and give it the fixtures `forge` and `at`: a repository
whose default branch is `main`, with the branches `main`, `fix` and `agent/two-words`, at the
commits of `COMMITS`. Implement `discuss` and `refuse`, which do what others do at the site.
"""

from abc import ABC, abstractmethod
from dataclasses import replace

import pytest

from atoll.domain.errors import Conflict, Forbidden, NotFound
from atoll.domain.repository.forge import ForgeRepository, NewPull
from atoll.ports.outside.forge import Forge
from atoll.wire.words.forges import CheckState, PullState

COMMITS = {"main": "a" * 40, "fix": "b" * 40, "agent/two-words": "c" * 40}
NEW = NewPull("fix", "main", "Fix the parser", "It read two spaces.")


class ForgeContract(ABC):
    """Contract of a forge: branches lead to pull requests, which others discuss."""

    @abstractmethod
    def discuss(self, forge: Forge, number: int) -> None:
        """Have the checks `lint` pass and `tests` fail, a review say "Not yet.", and somebody write
        "Why two?" on line 3 of `src/a.py`."""

    @abstractmethod
    def refuse(self, forge: Forge) -> None:
        """End the token."""

    async def test_repository_has_its_branches(self, forge: Forge, at: ForgeRepository) -> None:
        assert f"{at.owner}/{at.name}" in await forge.repositories(at)
        assert await forge.default_branch(at) == "main"
        assert set(await forge.branches(at)) == set(COMMITS)
        assert {name: await forge.commit_of(at, name) for name in COMMITS} == COMMITS
        assert await forge.commit_of(at, "no/such") is None

    async def test_repository_that_is_not_shown_is_not_found(
        self, forge: Forge, at: ForgeRepository
    ) -> None:
        other = replace(at, name="other")
        for read in (forge.default_branch(other), forge.commit_of(other, "main")):
            with pytest.raises(NotFound):
                await read
        with pytest.raises(NotFound):
            await forge.open_pull(other, NEW)

    async def test_pull_request_is_opened_once_for_its_branch(
        self, forge: Forge, at: ForgeRepository
    ) -> None:
        assert await forge.pulls(at, "fix") == ()
        made = await forge.open_pull(at, NEW)
        assert (made.title, made.branch, made.base) == (NEW.title, "fix", "main")
        assert (made.state, made.draft, made.commit) == (PullState.OPEN, False, COMMITS["fix"])
        assert await forge.pulls(at, "fix") == (made,)
        with pytest.raises(Conflict) as refused:
            await forge.open_pull(at, NEW)
        assert refused.value.code == "pull_refused"
        draft = await forge.open_pull(at, replace(NEW, branch="agent/two-words", draft=True))
        assert draft.draft and draft.title == NEW.title
        assert await forge.pulls(at, "fix") == (made,)
        assert await forge.pulls(at, "agent/two-words") == (draft,)

    async def test_pull_request_from_a_branch_that_is_not_there_is_refused(
        self, forge: Forge, at: ForgeRepository
    ) -> None:
        with pytest.raises(Conflict) as refused:
            await forge.open_pull(at, replace(NEW, branch="gone"))
        assert refused.value.code == "pull_refused"

    async def test_discussion_has_checks_by_name_and_comments_by_time(
        self, forge: Forge, at: ForgeRepository
    ) -> None:
        made = await forge.open_pull(at, NEW)
        assert await forge.discussion(at, made) == ((), ())
        self.discuss(forge, made.number)
        checks, comments = await forge.discussion(at, made)
        assert [(check.name, check.state) for check in checks] == [
            ("lint", CheckState.PASSED),
            ("tests", CheckState.FAILED),
        ]
        remarks = {comment.text: (comment.path, comment.line) for comment in comments}
        assert remarks == {"Not yet.": (None, None), "Why two?": ("src/a.py", 3)}
        assert all(comment.author for comment in comments)
        assert list(comments) == sorted(comments, key=lambda comment: comment.at)

    async def test_token_that_ended_is_forbidden(self, forge: Forge, at: ForgeRepository) -> None:
        self.refuse(forge)
        with pytest.raises(Forbidden) as refused:
            await forge.default_branch(at)
        assert refused.value.code == "forge_refused"
        assert at.token not in str(refused.value)
