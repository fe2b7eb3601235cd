"""An issue or a pull request that a task begins with: its address, its words, and its answer.

Pure. An address is read into a repository and a number, and nothing else of it is used. Title and
text were written by others: they are bounded plain text here.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from atoll.domain.errors import Invalid
from atoll.domain.repository.branch import branch_of_task
from atoll.domain.repository.forge import ForgeRepository, PullRequest, plain_text
from atoll.domain.repository.repository import MAX_URL_LENGTH, read_remote
from atoll.wire.words.forges import IssueKind, PullState

MAX_TASK_TEXT: Final = 15_000
"""The characters of an issue's text in a task: with title and address it fits a prompt."""

_PATH: Final = re.compile(
    r"(?P<repo>/.+)/(?P<word>issues|pull|pulls)/(?P<number>[1-9][0-9]{0,9})(?:/.*)?", re.ASCII
)
_MAX_NUMBER: Final = 2**31
_CLOSES: Final = r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+"


@dataclass(frozen=True, slots=True)
class IssueAddress:
    """The address of number `number` in the repository at `repo_url`; `word` is that of its path:
    `issues`, or `pull` or `pulls` for a pull request."""

    repo_url: str
    word: str
    number: int

    @property
    def kind(self) -> IssueKind:
        """The kind that the address says. A forge has pull requests among its issues."""
        return IssueKind.ISSUE if self.word == "issues" else IssueKind.PULL

    @property
    def url(self) -> str:
        """The address itself."""
        return f"{self.repo_url}/{self.word}/{self.number}"


@dataclass(frozen=True, slots=True)
class ForgeIssue:
    """An issue, as others wrote it. `pull`: it is a pull request."""

    number: int
    title: str
    text: str
    open: bool
    pull: bool = False


def read_issue_address(text: str, field: str = "address") -> IssueAddress:
    """Return what an address names: `https://host/owner/name/issues/7`, or `pull` or `pulls` in
    that place; what follows the number, a query or a fragment is left out. Raises `Invalid`."""
    try:
        parts = urlsplit(text.strip())
        path = _PATH.fullmatch(parts.path)
        if path is None or parts.scheme != "https" or len(text) > MAX_URL_LENGTH:
            raise ValueError("this is no address of an issue")
        repo = read_remote(f"https://{parts.netloc}{path['repo']}")
    except (ValueError, Invalid) as error:
        raise Invalid(_no_address(text), field=field) from error
    if int(path["number"]) > _MAX_NUMBER:
        raise Invalid(_no_address(text), field=field)
    return IssueAddress(repo.repo_url, path["word"], int(path["number"]))


def _no_address(text: str) -> str:
    return (
        f"{text[:80]!r} is no address of an issue or a pull request: write "
        "https://HOST/OWNER/NAME/issues/NUMBER, or pull or pulls in its place."
    )


def branch_of_issue(issue: ForgeIssue) -> str:
    """Return the branch that an issue proposes: words of its title, and its number."""
    return f"{branch_of_task(issue.title or 'issue')}-{issue.number}"


def task_of_issue(address: IssueAddress, issue: ForgeIssue, pull: PullRequest | None) -> str:
    """Return the words of a task that an issue or a pull request is. Its branch and what there is
    to know of its author stand in the last paragraph."""
    text = plain_text(issue.text[:MAX_TASK_TEXT]).strip()
    if len(issue.text) > MAX_TASK_TEXT:
        text = f"{text}…"
    what = f"issue {issue.number}"
    if pull is not None:
        what = f"pull request {issue.number}, whose branch {pull.branch} leads into {pull.base}"
    source = f"This is {what}: {address.url} – title and text were written there by others."
    return "\n\n".join(part for part in (issue.title, text, source) if part)


def state_of_issue(issue: ForgeIssue, pull: PullRequest | None) -> PullState:
    """Return the state of an issue, which is never merged, or of a pull request."""
    if pull is not None:
        return pull.state
    return PullState.OPEN if issue.open else PullState.CLOSED


def with_answer(text: str, address: IssueAddress, at: ForgeRepository) -> str:
    """Return the text of a pull request at `at` that answers an issue: it ends with `Closes #7`,
    which forges act on, unless it says so already. An issue elsewhere is named by its address."""
    own = f"{at.site}/{at.owner}/{at.name}".lower() == address.repo_url.lower()
    name = f"#{address.number}"
    if not own:
        inside = address.repo_url.lower().startswith(f"{at.site}/".lower())
        path = address.repo_url[len(at.site) + 1 :]
        name = f"{path}#{address.number}" if inside else address.url
    if re.search(rf"{_CLOSES}{re.escape(name)}(?!\d)", text, re.IGNORECASE):
        return text
    return "\n\n".join(part for part in (text.strip(), f"Closes {name}") if part)
