"""A person's own checkout: its description, branches and submodules, read as that person.

Sending it is `upload`, bringing commits back `pulled_branch`.
"""

import hashlib
import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import AtollError, Conflict, Invalid
from atoll.domain.repository.branch import conflicting_branches, read_branch
from atoll.domain.repository.repository import plain_name, read_remote
from atoll.domain.repository.submodules import MODULES
from atoll.surfaces.cli.transfer.local_git import LocalGit
from atoll.wire.git.checkpoints import MAX_DEPTH

_COMMIT = re.compile(r"(?=.*[0-9])[0-9a-f]{7,40}")
_USER = re.compile(r"^(https://)[^/@]*@")


@dataclass(frozen=True, slots=True)
class LocalRepo:
    """A checkout. `root` is its top folder; `key` names it to the server (a hash of machine,
    person and folder; worktrees of one repository share it); `branch` is empty where none is
    checked out; `repo_url` is its origin as https, or empty; `dirty` when something is not
    committed and will not be sent."""

    root: Path
    key: str
    name: str
    branch: str
    commit: str
    repo_url: str
    dirty: bool

    @property
    def label(self) -> str:
        """Text to send as `repo_url` of a new sandbox: its default name comes from it."""
        return self.repo_url or f"local/{self.name}"


def describe(path: Path) -> LocalRepo:
    """Return the checkout `path` lies in. Raises `Invalid` for what is no repository, has no
    commit, or is shallow; each message names the remedy."""
    git = LocalGit(path)
    if not path.is_dir():
        raise Invalid(f"{path} is not a folder: name a checkout, owner/repo or an address.")
    top = git.try_("rev-parse", "--show-toplevel")
    if top.code != 0:
        raise Invalid(f"{path} is not a usable git checkout ({top.why}).")
    folder = Path(top.text)
    git = LocalGit(folder)
    if git.ask("rev-parse", "--is-shallow-repository") == "true":
        raise Invalid(f"{folder} is a shallow clone: run `git fetch --unshallow` there first.")
    if git.try_("rev-parse", "--show-object-format").text == "sha256":
        raise Invalid(f"{folder} uses SHA-256 objects, which are not supported yet.")
    branch = git.try_("symbolic-ref", "-q", "--short", "HEAD").text
    commit = git.try_("rev-parse", "-q", "--verify", "HEAD^{commit}").text
    if not commit:
        raise Invalid(f"{folder} has no commit yet: commit something first.")
    status = git.ask("status", "--porcelain", "--ignore-submodules=all")
    return LocalRepo(
        root=folder,
        key=_key(git),
        name=plain_name(folder.name),
        branch=read_branch(branch) if branch else "",
        commit=commit,
        repo_url=_origin(git),
        dirty=bool(status),
    )


def find_branch(repo: LocalRepo, branch: str) -> str | None:
    """Return the commit of a branch of the checkout, of any of its worktrees; else of the branch of
    that name at its remotes, as last fetched: at `origin`, or where all that have it agree. None
    for none. Raises `Invalid` where they differ."""
    git = LocalGit(repo.root)
    name = read_branch(branch)
    if commit := git.try_("rev-parse", "-q", "--verify", f"refs/heads/{name}^{{commit}}").text:
        return commit
    remotes = git.ask("remote").splitlines()
    listed = git.ask("for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/remotes")
    commits = {}
    for line in listed.splitlines():
        commit, _, ref = line.partition(" ")
        remote, its = _split_remote(ref, remotes)
        if its == name:
            commits[remote] = commit
    if "origin" in commits:
        return commits["origin"]
    if len(set(commits.values())) > 1:
        named = " and ".join(f"{remote}/{name}" for remote in sorted(commits))
        raise Invalid(
            f"{name} is a branch of several remotes, which differ: begin at one of {named} "
            f"(`atoll new {repo.root} {name} {min(commits)}/{name}`).",
            field="branch",
        )
    return next(iter(commits.values()), None)


def _split_remote(ref: str, remotes: list[str]) -> tuple[str, str]:
    """Return the remote and the branch of `REMOTE/BRANCH`: either may have slashes. A remote that
    was removed since has none."""
    holding = [remote for remote in remotes if ref.startswith(f"{remote}/")]
    remote = max(holding, key=len) if holding else ref.partition("/")[0]
    return remote, ref[len(remote) + 1 :]


def find_start(repo: LocalRepo, name: str) -> str | None:
    """Return the commit of a branch as `find_branch` does, else of what git here knows by that
    name: a tag, `origin/BRANCH`, a commit. None for none."""
    known = find_branch(repo, name)
    if known is None:
        known = LocalGit(repo.root).try_("rev-parse", "-q", "--verify", f"{name}^{{commit}}").text
    return known or None


def refuse_other_names(repo: LocalRepo, branch: str) -> None:
    """Raise `Invalid` where `branch` is no branch here but names a tag, a branch of a remote as
    `origin/NAME`, or a commit: a branch of that name would begin somewhere else."""
    if find_branch(repo, branch) is not None:
        return
    git = LocalGit(repo.root)
    if git.try_("rev-parse", "-q", "--verify", f"refs/remotes/{branch}^{{commit}}").text:
        short = _split_remote(branch, git.ask("remote").splitlines())[1] or branch
        raise Invalid(f"{branch} is a branch of a remote: name it {short!r}.", field="branch")
    for kind, ref in (("tag", f"refs/tags/{branch}"), ("commit", branch)):
        if kind == "commit" and not _COMMIT.fullmatch(branch):
            continue  # words of these letters are names of branches, too
        if git.try_("rev-parse", "-q", "--verify", f"{ref}^{{commit}}").text:
            raise Invalid(
                f"{branch} is a {kind}, not a branch: name a branch before it, which begins there "
                f"(`atoll new {repo.root} NAME {branch}`).",
                field="branch",
            )


def check_room(git: LocalGit, branch: str, *, advice: str) -> None:
    """Raise `Conflict` code `branch_in_the_way` where a branch of the checkout leaves no room for
    `branch`: git keeps either `a` or `a/b`. `advice` is what to do."""
    there = git.ask("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").splitlines()
    if beside := conflicting_branches({branch}, there):
        raise Conflict(
            f"{branch!r} has no room beside your branch {beside[0]!r}, as git keeps only one of "
            f"the two: {advice}, or rename that one.",
            code="branch_in_the_way",
        )


def lacking_submodules(checkout: Path, commit: str) -> tuple[str, ...]:
    """Return the submodules of the checkout whose commit, as `commit` names it, is not in them: a
    pull brings none of theirs."""
    submodules = _each_submodule(checkout, commit)
    return tuple("/".join(paths) for own, paths, its in submodules if not _has_commit(own, its))


def whole_submodules(
    repo: LocalRepo, commit: str
) -> Iterator[tuple[LocalGit, tuple[str, ...], str]]:
    """Yield each submodule of a commit whose own commit is here and whole, with its path in each
    repository that it lies in."""
    for own, paths, its in _each_submodule(repo.root, commit):
        if _has_commit(own, its) and own.ask("rev-parse", "--is-shallow-repository") == "false":
            yield own, paths, its


def _has_commit(git: LocalGit, commit: str) -> bool:
    return git.try_("cat-file", "-e", f"{commit}^{{commit}}").code == 0


def _each_submodule(
    folder: Path, commit: str, above: tuple[str, ...] = ()
) -> Iterator[tuple[LocalGit, tuple[str, ...], str]]:
    """Yield each submodule of a commit that has a repository here: git there, its path in each
    repository that it lies in, and its commit."""
    git = LocalGit(folder)
    if git.try_("cat-file", "-e", f"{commit}:{MODULES}").code != 0:
        return
    # The repository of a submodule that is not checked out has no tree.
    tree = git.try_("rev-parse", "--show-toplevel")
    top = Path(tree.text) if tree.code == 0 else None
    shared = git.ask("rev-parse", "--path-format=absolute", "--git-common-dir")
    for line in git.ask("ls-tree", "-r", "-z", "--full-tree", commit).split("\0"):
        entry, _, path = line.partition("\t")
        if not entry.startswith("160000 "):
            continue
        laid_out = top is not None and (top / path / ".git").exists()
        own = LocalGit(top / path if top and laid_out else Path(shared, "modules", path))
        if own.folder.is_dir():
            its, paths = entry.split()[2], (*above, path)
            yield own, paths, its
            if len(paths) < MAX_DEPTH:
                yield from _each_submodule(own.folder, its, paths)


def _key(git: LocalGit) -> str:
    shared = git.ask("rev-parse", "--path-format=absolute", "--git-common-dir")
    parts = ("atoll-local", platform.node(), str(os.getuid()), os.path.realpath(shared))
    identity = "\0".join(parts)
    return hashlib.sha256(identity.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _origin(git: LocalGit) -> str:
    url = git.try_("config", "--get", "remote.origin.url").text
    try:
        # A user name in an address is common and of no use elsewhere; a password must not go.
        return read_remote(_USER.sub(r"\1", url)).repo_url if url else ""
    except AtollError:
        return ""
