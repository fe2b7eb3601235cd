"""The contract of an IssueReader: issues and pull requests by number, as others wrote them.

Subclass `IssueReaderContract` in a test module and give it the fixtures `reader`, `forge` (which
opens the pull requests that are read) and `at`, as `ForgeContract` has them. Implement the methods,
which do what others do at the site.
"""

from abc import ABC, abstractmethod
from dataclasses import replace

import pytest

from atoll.domain.errors import NotFound
from atoll.domain.repository.forge import ForgeRepository
from atoll.ports.outside.forge import Forge
from atoll.ports.outside.issues import IssueReader
from atoll.testing.contracts.outside.forge import NEW
from atoll.wire.words.forges import PullState


class IssueReaderContract(ABC):
    """Contract of a reader: an issue has bounded plain words, a pull request its present state."""

    @abstractmethod
    def write_issue(self, reader: IssueReader, title: str, text: str) -> int:
        """Open an issue and return its number."""

    @abstractmethod
    def merge(self, reader: IssueReader, number: int) -> None:
        """Merge a pull request."""

    async def test_issue_has_the_words_of_its_author(
        self, reader: IssueReader, at: ForgeRepository
    ) -> None:
        number = self.write_issue(reader, "It reads two spaces", "Here:\n\tread('  ')")
        issue = await reader.issue(at, number)
        assert (issue.number, issue.title) == (number, "It reads two spaces")
        assert issue.text == "Here:\n\tread('  ')"
        assert issue.open and not issue.pull

    async def test_pull_request_is_an_issue_and_has_its_state(
        self, reader: IssueReader, forge: Forge, at: ForgeRepository
    ) -> None:
        made = await forge.open_pull(at, NEW)
        assert await reader.pull(at, made.number) == made and made.fork == ""
        issue = await reader.issue(at, made.number)
        assert issue.pull and issue.open and issue.title == NEW.title
        self.merge(reader, made.number)
        assert (await reader.pull(at, made.number)).state is PullState.MERGED
        assert not (await reader.issue(at, made.number)).open

    async def test_number_that_nothing_has_is_not_found(
        self, reader: IssueReader, at: ForgeRepository
    ) -> None:
        number = self.write_issue(reader, "Only an issue", "")
        for read in (
            reader.issue(at, 4096),
            reader.pull(at, 4096),
            reader.pull(at, number),
            reader.issue(replace(at, name="other"), number),
        ):
            with pytest.raises(NotFound):
                await read
