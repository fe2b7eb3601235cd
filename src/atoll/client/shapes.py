"""Responses of the API, as far as a client reads them: one shape for each kind of object.

`docs/openapi.json` is the contract; a test finds the fields of each shape in one of its schemas.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.status_shapes import SandboxAgent
from atoll.client.words import Mode

SandboxState = Literal[
    "requested",
    "provisioning",
    "ready",
    "active",
    "stopped",
    "expired",
    "failed",
    "destroying",
    "destroyed",
]

ToolMissing = Literal[
    "not_inside",
    "not_configured",
    "tools_off",
    "denied_by_profile",
    "not_in_profile",
    "no_permission",
]


class ProfileName(Shape):
    """The profile of a sandbox."""

    id = fields.text()
    version = fields.text()


class Isolation(Shape):
    """Isolation of a sandbox."""

    level: Field[Literal["none", "policy", "container", "microvm"]] = fields.word()
    mechanism = fields.text()
    host_uid = fields.number()
    weak = fields.flag()
    degraded = fields.texts()


class Repo(Shape):
    """A repository of a sandbox."""

    path = fields.text()
    key = fields.text()
    repo_url = fields.text()
    branch = fields.text()
    from_branch = fields.text()
    submodules = fields.texts()
    lfs_files = fields.number()


class Setup(Shape):
    """The instructions for a sandbox's first agent."""

    instructions = fields.text()
    instructions_ref = fields.text()
    instructed = fields.flag()


class SandboxProject(Shape):
    """The approved project of a sandbox."""

    state: Field[Literal["none", "waiting", "running", "done", "failed"]] = fields.word()
    reason = fields.text()
    ports = fields.numbers()
    repository = fields.text()
    copies = fields.texts()


class Task(Shape):
    """The task of a sandbox's agent."""

    prompt = fields.text()
    group = fields.text()
    state: Field[Literal["queued", "waiting", "given", "failed"]] = fields.word()
    reason = fields.text()
    before = fields.number()


class Workspace(Shape):
    """Workspace of a sandbox."""

    mode: Field[Literal["mirror", "remote-canonical"]] = fields.word()


class Metadata(Shape):
    """The first repository of a sandbox."""

    repo_url = fields.text()
    branch = fields.text()


class Sandbox(Shape):
    """A sandbox."""

    sandbox_id = fields.text()
    name = fields.text()
    state: Field[SandboxState] = fields.word()
    generation = fields.number()
    reason = fields.text()
    profile = fields.one(ProfileName)
    extension = fields.text()
    host = fields.text()
    route = fields.text()
    agent = fields.text()
    agent_catalogue = fields.texts()
    agents_inside = fields.texts()
    network_mode: Field[Mode] = fields.word()
    isolation = fields.one(Isolation)
    metadata = fields.one(Metadata)
    setup_metadata = fields.one(Setup)
    workspace = fields.one(Workspace)
    task = fields.one(Task)
    project = fields.one(SandboxProject)
    repos = fields.many(Repo)
    leftovers = fields.texts()
    parent = fields.text()
    exposed_secrets = fields.texts()
    created_at = fields.text()
    ready_at = fields.text()
    updated_at = fields.text()
    last_active_at = fields.text()
    expires_at = fields.text()
    max_expires_at = fields.text()
    retained_until = fields.text()
    ends_soon = fields.flag()
    agents = fields.many(SandboxAgent)


class SandboxList(Shape):
    """A page of sandboxes."""

    sandboxes = fields.many(Sandbox)
    next = fields.text()


class LogLine(Shape):
    """A line of a provisioning log."""

    at = fields.text()
    text = fields.text()


class Log(Shape):
    """A provisioning log."""

    lines = fields.many(LogLine)


class Layer(Shape):
    """A layer of protection."""

    number = fields.number()
    name = fields.text()
    text = fields.text()
    in_force = fields.flag()
    bypassable = fields.flag()


class WallPart(Shape):
    """A part of the wall."""

    name = fields.text()
    text = fields.text()
    in_force = fields.flag()
    weakened = fields.flag()


class Safety(Shape):
    """Safety layers of one sandbox."""

    layers = fields.many(Layer)
    wall = fields.many(WallPart)
    degraded = fields.texts()


class Process(Shape):
    """A process left running."""

    pid = fields.number()
    command = fields.text()


class Usage(Shape):
    """Resources a runtime uses."""

    memory_bytes = fields.number()
    most_memory_bytes = fields.number()
    tasks = fields.number()
    most_tasks = fields.number()


class Processes(Shape):
    """Processes that commands left running."""

    processes = fields.many(Process)
    more = fields.flag()
    runtime = fields.one(Usage)


class SandboxTool(Shape):
    """A tool, as far as agents inside a sandbox have it."""

    name = fields.text()
    permission = fields.text()
    rule: Field[Literal["allow", "ask", "deny"]] = fields.word()
    missing: Field[ToolMissing] = fields.word()
    reason = fields.text()


class SandboxTools(Shape):
    """The tools of an installation, as far as agents inside a sandbox have them."""

    tools = fields.many(SandboxTool)


class Rule(Shape):
    """A network rule."""

    host = fields.text()
    ports = fields.numbers()
    methods = fields.texts()
    paths = fields.texts()
    origin = fields.text()


class Withheld(Shape):
    """A value of a network that is beyond a bound, and whose."""

    field = fields.text()
    text = fields.text()
    whose = fields.text()


class Network(Shape):
    """Destinations a sandbox may reach."""

    mode: Field[Mode] = fields.word()
    rules = fields.many(Rule)
    denied = fields.texts()
    host_ports = fields.numbers()
    ranges = fields.texts()
    withheld = fields.many(Withheld)


class UnpulledPlace(Shape):
    """Work nobody pulled, of a repository or beside them all."""

    path = fields.text()
    commits = fields.number()
    tip = fields.text()
    subject = fields.text()
    stashes = fields.number()
    changed = fields.texts()
    untracked = fields.texts()
    more = fields.number()


class HeldPush(Shape):
    """A branch pushed inside that waits on the server."""

    kept_id = fields.text()
    repo = fields.number()
    branch = fields.text()
    ref = fields.text()
    commit = fields.text()
    commits = fields.number()
    subject = fields.text()
    pushed_at = fields.text()
    kept_until = fields.text()


class Unpulled(Shape):
    """Work that lies only in a sandbox, and pushes that are held on the server."""

    places = fields.many(UnpulledPlace)
    pushes = fields.many(HeldPush)


class PullOrder(Shape):
    """A pull that was asked for on the page."""

    order_id = fields.text()
    sandbox_id = fields.text()
    sandbox_name = fields.text()
    repo = fields.number()
    branch = fields.text()
    into = fields.text()
    uncommitted = fields.flag()
    pushed = fields.flag()
    expects = fields.text()
    state: Field[Literal["waiting", "taken", "done", "failed", "cancelled"]] = fields.word()


class Sync(Shape):
    """The result of a sync."""

    outcome: Field[Literal["updated", "current", "conflict", "aborted", "clean"]] = fields.word()
    onto = fields.text()
    commit = fields.text()
    commits = fields.number()
    files = fields.texts()
    more = fields.number()
    stashed = fields.flag()
    agent = fields.text()


class HeldPushes(Shape):
    """The held pushes of a sandbox."""

    pushes = fields.many(HeldPush)


class ProfileMetadata(Shape):
    """Labels of a profile; its document leaves them open."""

    description = fields.text()


class Profile(ProfileName):
    """A profile."""

    extension = fields.text()
    agent = fields.text()
    description = fields.text()
    obstacle = fields.text()
    metadata = fields.one(ProfileMetadata)


class ProfileList(Shape):
    """The newest version of each profile."""

    profiles = fields.many(Profile)


class Me(Shape):
    """The caller."""

    id = fields.text()
    org_id = fields.text()
    name = fields.text()


class Ticket(Shape):
    """A login link, valid once; `outside_url` is the same one for another machine."""

    url = fields.text()
    outside_url = fields.text()


class Repository(Shape):
    """A repository the server shares among sandboxes."""

    key = fields.text()


class Ref(Shape):
    """A full ref name, and its commit."""

    name = fields.text()
    commit = fields.text()


class RepositoryWithRefs(Repository):
    """A shared repository and its refs."""

    refs = fields.many(Ref)

    @property
    def branches(self) -> dict[str, str]:
        """The commit of each branch."""
        heads = "refs/heads/"
        found = (ref for ref in self.refs if ref.name.startswith(heads))
        return {ref.name.removeprefix(heads): ref.commit for ref in found}


class Have(Shape):
    """Commits the server already has."""

    have = fields.texts()
