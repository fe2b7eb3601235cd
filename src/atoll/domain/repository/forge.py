"""A forge: the site that hosts a repository, its pull requests, their checks and comments.

What a forge answers was written by others: it is read here into bounded plain text. Addresses are
made here from a repository's own, and none is taken from an answer.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from urllib.parse import quote, urlsplit

from atoll.domain.errors import Invalid
from atoll.domain.network.host import canonical_host
from atoll.wire.words.forges import MAX_TEXT, MAX_TITLE, CheckState, ForgeKind, PullState

GITHUB_HOST: Final = "github.com"
_GITHUB_API: Final = "https://api.github.com"
_SITE: Final = re.compile(
    r"https://(?P<host>[a-z0-9.-]{1,253})(?::(?P<port>[1-9][0-9]{0,4}))?(?:/[A-Za-z0-9_~-][\w.~-]{0,99}){0,4}",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class ForgeRepository:
    """A repository at a forge, and the token of the person it is reached for. `site` is the
    forge's https address, `owner` and `name` the repository's path there."""

    kind: ForgeKind
    site: str
    owner: str
    name: str
    token: str = field(repr=False, default="")

    @property
    def api(self) -> str:
        """The address below which the forge's API answers."""
        if self.kind is ForgeKind.GITEA:
            return f"{self.site}/api/v1"
        host = urlsplit(self.site).netloc
        return _GITHUB_API if host == GITHUB_HOST else f"{self.site}/api/v3"

    @property
    def path(self) -> str:
        """The repository's place in the API's addresses."""
        return f"/repos/{quote(self.owner, safe='')}/{quote(self.name, safe='')}"

    def pull_url(self, number: int) -> str:
        """Return the address of a pull request, for a person's browser."""
        word = "pull" if self.kind is ForgeKind.GITHUB else "pulls"
        return f"{self.site}/{quote(self.owner)}/{quote(self.name)}/{word}/{number}"


@dataclass(frozen=True, slots=True)
class NewPull:
    """A request to open a pull request: the commits of `branch` for `base`."""

    branch: str
    base: str
    title: str
    text: str = ""
    draft: bool = False


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request. `commit` is the newest of its branch that the forge has. `fork` is the
    repository (`owner/name`) of its branch where that is another one."""

    number: int
    title: str
    state: PullState
    draft: bool
    branch: str
    base: str
    commit: str
    text: str = ""
    fork: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one program over a commit."""

    name: str
    state: CheckState


@dataclass(frozen=True, slots=True)
class ForgeComment:
    """A comment on a pull request; `path` and `line` for one on a line of its diff. `line` is None
    where the line is gone."""

    id: str
    author: str
    text: str
    at: datetime
    path: str | None = None
    line: int | None = None


def is_site(text: str) -> bool:
    """Report whether `text` is the canonical https address of a site: a host in lower case, a port
    where it is not 443, and the path below which a forge answers."""
    parts = _SITE.fullmatch(text)
    if parts is None or parts["port"] == "443":
        return False
    try:
        return canonical_host(parts["host"]) == parts["host"]
    except ValueError:
        return False


def repository_at(kind: ForgeKind, site: str, repo_url: str) -> ForgeRepository | None:
    """Return the repository of `repo_url` when it is one of the forge at `site`; None otherwise.
    Both are canonical https addresses, and a repository is `owner/name` below its forge."""
    start = f"{site}/"
    if not repo_url.startswith(start):
        return None
    owner, slash, name = repo_url.removeprefix(start).partition("/")
    if not slash or not owner or not name or "/" in name:
        return None
    return ForgeRepository(kind, site, owner, name)


def fork_of(at: ForgeRepository, head: str | None) -> str:
    """Return the repository of a pull request's branch where it is not `at`; `head` is its name,
    None where it is gone."""
    if head is None:
        return "a repository that is gone"
    return "" if head.lower() == f"{at.owner}/{at.name}".lower() else plain_line(head)


def check_new_pull(new: NewPull) -> NewPull:
    """Return the request when a forge could take it. Raises `Invalid` with the field."""
    if not new.title.strip() or len(new.title) > MAX_TITLE or not new.title.isprintable():
        raise Invalid(f"A title is one line of at most {MAX_TITLE} characters.", field="title")
    if len(new.text) > MAX_TEXT:
        raise Invalid(f"A text has at most {MAX_TEXT} characters.", field="text")
    if new.branch == new.base:
        raise Invalid(
            f"A pull request leads from one branch to another; both are {new.base!r}.", field="base"
        )
    return new


def plain_line(text: str, *, most: int = MAX_TITLE) -> str:
    """Return one bounded line of what others wrote: no control or direction characters."""
    return "".join(c if c.isprintable() else " " for c in text[:most]).strip()


def plain_text(text: str) -> str:
    """Return bounded lines of what others wrote; a longer text ends with `…`."""
    kept = "".join(c if c.isprintable() or c in "\n\t" else " " for c in text[:MAX_TEXT])
    return f"{kept}…" if len(text) > MAX_TEXT else kept
