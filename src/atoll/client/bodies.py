"""Request bodies of the API, as far as this client sends them. What may be null may be left out.

`docs/openapi.json` is the contract; a test compares every field with the schema of the same name.
"""

from collections.abc import Mapping
from typing import Literal, Required, TypedDict, TypeVar, cast

from atoll.client.made.hosts.hosts import CostBody as CostBody
from atoll.client.made.hosts.routes import ConstraintsBody as ConstraintsBody
from atoll.client.made.hosts.routes import InputsBody as InputsBody
from atoll.client.made.hosts.routes import MountBody as MountBody
from atoll.client.made.hosts.routes import RouteOptionsBody as RouteOptionsBody
from atoll.client.words import Action as Action
from atoll.client.words import ActorKind as ActorKind
from atoll.client.words import IsolationLevel as IsolationLevel
from atoll.client.words import Mode as Mode
from atoll.client.words import Reach as Reach
from atoll.client.words import Role as Role
from atoll.client.words import Strategy as Strategy
from atoll.client.words import WorkspaceAccess as WorkspaceAccess

B = TypeVar("B", bound=Mapping[str, object])

_NOTHING: tuple[object, ...] = (None, (), [], {})


class WorkBody(TypedDict, total=False):
    """The way in which an agent works: at a terminal, or as a machine that may ask."""

    mode: Literal["tui", "machine"]
    permissions: Literal["allow", "ask"]


Scope = Literal["session", "agent", "shared"]
Softlock = Literal["owner", "strict"]


class MeBody(TypedDict):
    """A change of the caller."""

    name: str


class TerminalChangeBody(TypedDict, total=False):
    """A change of a terminal: its name, or whether its size is fixed."""

    name: str | None
    fixed: bool | None
    cols: int | None
    rows: int | None


class PullRequestBody(TypedDict, total=False):
    """A pull request of a branch."""

    title: Required[str]
    text: str
    repo: int
    branch: str | None
    base: str | None
    draft: bool


class TerminalBody(TypedDict, total=False):
    """A terminal to open."""

    agent: str | None
    argv: list[str] | None
    cwd: str | None
    env: dict[str, str] | None
    cols: int | None
    rows: int | None


class ExecBody(TypedDict, total=False):
    """A command to run."""

    argv: list[str] | None
    shell: str | None
    cwd: str | None
    env: dict[str, str] | None
    stdin: str | None
    timeout: float | None
    background: bool
    max_output_bytes: int | None
    reap: bool


class TakeBody(TypedDict, total=False):
    """The checkout in which somebody waits for pull orders."""

    key: Required[str]
    repo_url: str


class PullResultBody(TypedDict, total=False):
    """The end of a pull that was ordered."""

    done: Required[bool]
    written: str | None
    commit: str | None
    commits: int
    said: str


class SyncBody(TypedDict, total=False):
    """Newer commits for a sandbox."""

    repo: int
    onto: str | None
    act: Literal["rebase", "abort", "look"]
    agent: bool
    now: bool


def given(body: B) -> B:
    """Return the body without what was not given: null, and empty lists and objects."""
    return cast("B", {name: value for name, value in body.items() if value not in _NOTHING})
