"""Responses of the API, as far as a client reads them: one shape for each kind of object.

`docs/openapi.json` is the contract; a test finds the fields of each shape in one of its schemas.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.sandboxes.views import ProfileName, Sandbox

ToolMissing = Literal[
    "not_inside",
    "not_configured",
    "tools_off",
    "denied_by_profile",
    "not_in_profile",
    "no_permission",
]


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
