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


class RepoBody(TypedDict, total=False):
    """A repository of a new sandbox."""

    repo_url: str | None
    key: str | None
    branch: str | None
    from_branch: str | None
    sparse: list[str]


class WorkspaceBody(TypedDict, total=False):
    """The workspace of a new sandbox."""

    mode: Literal["mirror", "remote-canonical"] | None
    access: WorkspaceAccess | None


class SetupBody(TypedDict, total=False):
    """The words for a sandbox's first agent."""

    instructions: str | None
    instructions_ref: str | None
    secret_refs: list[str]


class ConsumerBody(TypedDict, total=False):
    """The consumer for which a sandbox exists."""

    actor: ActorKind
    harness: str | None
    session_id: str | None


class WorkBody(TypedDict, total=False):
    """The way in which an agent works: at a terminal, or as a machine that may ask."""

    mode: Literal["tui", "machine"]
    permissions: Literal["allow", "ask"]


class TaskBody(WorkBody, total=False):
    """The way in which the agent of a new sandbox takes its prompt."""

    group: str | None
    max_working: int | None


class ProjectUseBody(TypedDict, total=False):
    """An approved project of a new sandbox."""

    digest: Required[str]
    setup: Literal["now", "later"]


Scope = Literal["session", "agent", "shared"]
Softlock = Literal["owner", "strict"]


class CreateBody(TypedDict, total=False):
    """A request for a sandbox."""

    profile: str
    profile_version: str | None
    name: str | None
    agent: str | None
    agent_catalogue: list[str] | None
    softlock: Softlock | None
    network_mode: Mode | None
    scope: Scope | None
    ttl: int | str | None
    cwd: str | None
    env: dict[str, str]
    copies: list[str]
    repos: list[RepoBody]
    mounts: list[MountBody]
    workspace: WorkspaceBody
    setup_metadata: SetupBody
    inputs: InputsBody
    consumer: ConsumerBody
    prompt: str | None
    task: TaskBody
    project: ProjectUseBody | None
    host: str | None
    route: RouteOptionsBody


class NetworkBody(TypedDict, total=False):
    """Changes of a sandbox's network."""

    mode: Mode | None
    allow: list[str]
    deny: list[str]
    forget: list[str]
    host_ports: list[int] | None
    ranges: list[str] | None


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


class AgentBody(WorkBody, total=False):
    """An agent to start."""

    agent: Required[str]
    prompt: str | None
    resume: bool
    conversation: str | None
    softlock: Softlock
    cwd: str | None
    env: dict[str, str] | None
    name: str | None


class SettingsBody(TypedDict, total=False):
    """A setting of an agent to change."""

    model: str | None
    permission_mode: str | None


class AnswerBody(TypedDict, total=False):
    """An answer to a card."""

    option: str | None
    text: str | None


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
