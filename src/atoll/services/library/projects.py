"""Projects: what a repository's own file asks for, and people's decisions on it.

The file is read from the shared repository by the object ids of the commit that a sandbox would
start from; git never runs over a tree of files. Nothing of it applies before its person decided.
"""

from collections.abc import Mapping
from dataclasses import replace

from atoll.domain.errors import Conflict, Forbidden, Invalid
from atoll.domain.event import EventDraft, Json
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.principal import Principal
from atoll.domain.repository.branch import read_branch
from atoll.domain.repository.devcontainer import DEVCONTAINER_FILES, read_devcontainer
from atoll.domain.repository.project import (
    DecidedProject,
    Project,
    ProjectFile,
    project_changes,
    project_digest,
    proposals,
)
from atoll.domain.repository.project_file import MAX_FILE_BYTES, PROJECT_FILE, read_project
from atoll.domain.repository.repository import is_local_key, read_remote
from atoll.domain.sandboxes.sandbox import RepoRequest, SandboxRepo
from atoll.ports import Transaction
from atoll.ports.repositories import RepositoryShelf, StoredRepository
from atoll.services.ground import Ground
from atoll.services.library.workspaces import Workspaces
from atoll.wire.words.events import ActorKind
from atoll.wire.words.library import ProjectDecision
from atoll.wire.words.sandboxes import SnapshotState
from atoll.wire.words.walls import WORKSPACE


class Projects:
    """Use cases on project files. `allow_loopback` permits remotes on this machine (development
    only). Methods raise the errors of the shelf."""

    def __init__(
        self,
        ground: Ground,
        workspaces: Workspaces,
        shelf: RepositoryShelf,
        *,
        allow_loopback: bool = False,
    ) -> None:
        self._ground = ground
        self._workspaces = workspaces
        self._shelf = shelf
        self._allow_loopback = allow_loopback

    async def read(self, caller: Principal, request: RepoRequest) -> Project:
        """Return the project file of the commit that a sandbox of `request` would start from, with
        the caller's decision on it. A file that cannot be used is a `problem`, no error."""
        stored, commit = await self._workspaces.beginning(caller.org_id, self._repo(request))
        content, problem = await self._content(stored, commit)
        async with self._ground.store.read() as rows:
            return await self._add_decision(
                rows, caller, Project(stored.key, commit, content, "", problem=problem)
            )

    async def decide(
        self, caller: Principal, request: RepoRequest, *, digest: str, decision: ProjectDecision
    ) -> Project:
        """Remember a person's decision on exactly what they were shown. Raises `Forbidden` unless
        the caller is a person, `Conflict` when the file proposes something else by now."""
        _check_person(caller)
        project = await self.read(caller, request)
        if project.problem is not None:
            raise Conflict(project.problem, code="project_unusable")
        if project.digest != digest:
            raise Conflict(
                f"{project.content.source} of {project.repository} does not propose what you were "
                "shown: look at it again.",
                code="not_as_shown",
                field="shown",
            )
        decided = DecidedProject(
            org_id=caller.org_id,
            owner=caller.id,
            repository=project.repository,
            digest=digest,
            decision=decision,
            content=project.content,
            decided_at=self._ground.clock.now(),
            decided_by=caller.id,
        )
        payload: dict[str, Json] = {
            "repository": project.repository,
            "digest": digest,
            "decision": decision.value,
        }
        async with self._ground.store.begin() as rows:
            await rows.projects.put(decided)
            await self._log(rows, caller, "project.decided", payload)
            known = await self._add_decision(rows, caller, project)
        self._ground.bus.announce((f"repository:{project.repository}",))
        return known

    async def list(self, caller: Principal, page: PageQuery) -> RowPage[DecidedProject]:
        """Return a page of the caller's decisions, newest first."""
        async with self._ground.store.read() as rows:
            return await rows.projects.page(caller.org_id, caller.id, page)

    async def forget(self, caller: Principal, repository: str) -> int:
        """Drop the caller's decisions on a repository, so that it is asked again, and what its
        set-ups left: no later approval, not even of the same file, begins with it. Returns how many
        decisions there were."""
        _check_person(caller)
        if not repository.isprintable():
            return 0  # no key has such characters, and PostgreSQL refuses a NUL
        async with self._ground.store.begin() as rows:
            count = await rows.projects.forget(caller.org_id, caller.id, repository)
            for left in await rows.snapshots.prebuilds(caller.org_id, caller.id):
                if left.prebuild is not None and left.prebuild.repository == repository:
                    await rows.snapshots.put(replace(left, state=SnapshotState.REMOVING))
            if count:
                payload: dict[str, Json] = {"repository": repository, "decisions": count}
                await self._log(rows, caller, "project.forgotten", payload)
        self._ground.bus.announce((f"repository:{repository}",))
        return count

    def _repo(self, request: RepoRequest) -> SandboxRepo:
        """Return the repository as a sandbox would have it. Raises `Invalid` naming the field."""
        key = request.key
        if key is None or not is_local_key(key):
            read_remote(request.repo_url, allow_loopback=self._allow_loopback)
        branch = "" if request.branch is None else read_branch(request.branch)
        start = request.from_branch
        start = None if start is None else read_branch(start, field="from_branch")
        return SandboxRepo(request.repo_url, branch, start, WORKSPACE, key)

    async def _content(
        self, stored: StoredRepository, commit: str
    ) -> tuple[ProjectFile, str | None]:
        """Return what the first project file there is holds, and why it cannot be used."""
        none = ProjectFile("")
        for source in (PROJECT_FILE, *DEVCONTAINER_FILES) if commit else ():
            try:
                text = await self._shelf.read_file(stored, commit, source, max_bytes=MAX_FILE_BYTES)
                if text is None:
                    continue
                own = source == PROJECT_FILE
                return (read_project(text) if own else read_devcontainer(text, source)), None
            except Invalid as err:
                return ProjectFile(source), err.message
        return none, None

    async def _add_decision(
        self, rows: Transaction, caller: Principal, project: Project
    ) -> Project:
        """Return the project with its digest and the caller's decision on that digest."""
        digest = project_digest(project.content)
        earlier = await rows.projects.of(caller.org_id, caller.id, project.repository)
        same = next((other for other in earlier if other.digest == digest), None)
        before = earlier[0].content if earlier and same is None else None
        return Project(
            project.repository,
            project.commit,
            project.content,
            digest,
            None if same is None or not proposals(project.content) else same.decision,
            project_changes(before, project.content),
            project.problem,
        )

    async def _log(
        self, rows: Transaction, caller: Principal, kind: str, payload: Mapping[str, Json]
    ) -> None:
        draft = EventDraft(
            id=self._ground.ids.event(),
            stream=f"repository:{payload['repository']}",
            event_type=kind,
            at=self._ground.clock.now(),
            org_id=caller.org_id,
            owner=caller.id,
            actor=caller,
            reason=None,
            payload=payload,
        )
        await rows.events.append((draft,))


def _check_person(caller: Principal) -> None:
    by_token = caller.token is not None
    if caller.kind is not ActorKind.PERSON or caller.guest_access is not None or by_token:
        raise Forbidden("Only a person decides what a repository proposes.", code="not_interactive")
