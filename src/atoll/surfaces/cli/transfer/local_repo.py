"""A person's own checkout: describe it, and send what the server lacks of it.

The server never opens a path; the CLI reads the checkout as its person and uploads a git
bundle. What is not committed stays here. Bringing commits back is `pulled_branch`.
"""

import hashlib
import os
import platform
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from atoll.client.client import Client
from atoll.client.shapes import Have, RepositoryWithRefs
from atoll.client.transport import Call, at, post
from atoll.domain.errors import AtollError, Failed, Invalid, LimitReached
from atoll.domain.repository.branch import read_branch
from atoll.domain.repository.repository import plain_name, read_remote
from atoll.domain.repository.submodules import MODULES
from atoll.surfaces.cli.transfer.local_git import LocalGit

PIECE_BYTES = 256 * 1024
MAX_TIPS = 400
SUBMODULES = "submodules/"
UPLOAD_SECONDS = 1800.0
"""The longest silence while the server checks what was sent."""

PATIENCE_SECONDS = 3.0
"""The time after which is said what an upload waits for."""

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
    that name at its remote, as last fetched (`origin`, or the only one with it). None for none."""
    git = LocalGit(repo.root)
    name = read_branch(branch)
    if commit := git.try_("rev-parse", "-q", "--verify", f"refs/heads/{name}^{{commit}}").text:
        return commit
    listed = git.ask("for-each-ref", "--format=%(objectname) %(refname)", "refs/remotes")
    there = {ref: it for it, _, ref in (line.partition(" ") for line in listed.splitlines())}
    found = [commit for ref, commit in there.items() if ref.split("/", 3)[3:] == [name]]
    return there.get(f"refs/remotes/origin/{name}") or (found[0] if len(found) == 1 else None)


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
        short = branch.partition("/")[2] or branch
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


def upload(
    api: Client,
    checkout: LocalRepo | Path,
    *,
    also: str | None = None,
    say: Callable[[str], None] | None = None,
) -> RepositoryWithRefs:
    """Send what the server lacks of the current branch, and of `also` (what to go on from, as
    `find_start` knows it), with the submodules that are here. `say` gets one line per step. Returns
    the repository, with the `key` sandboxes name, and its `branches`. Raises as `describe`, and
    `Invalid` where neither is there."""
    repo = describe(checkout) if isinstance(checkout, Path) else checkout
    stored = RepositoryWithRefs({})
    git = LocalGit(repo.root)
    heads = {repo.branch: repo.commit} if repo.branch else {}
    other = None if also in (None, repo.branch) else find_start(repo, also or "")
    if also is not None and other is not None:
        heads = {also: other, **heads}
    if not heads:
        raise Invalid(
            f"{repo.root} is on no branch: run `git switch -c NAME` there first, or name one of "
            "its branches to go on from."
        )
    for commit in dict.fromkeys(heads.values()):
        _send_submodules(api, repo, commit, say=say or _silent)
    for branch, commit in heads.items():
        have = _have(api, git, repo, commit)
        body: bytes | Iterator[bytes] = b""
        if commit not in have:
            if say is not None:
                say(f"sending {branch} of {repo.root}")
            body = _bundle(git, branch, commit, have)
        with _patience(say, branch):
            stored = api.transport.read(RepositoryWithRefs, _put(repo, branch, commit, body=body))
    return stored


def _send_submodules(
    api: Client, repo: LocalRepo, commit: str, *, say: Callable[[str], None]
) -> None:
    """Send the commits of a commit's submodules that are here, each as a branch `submodules/PATH`
    of the same repository: from there they are laid out inside. Others stay; the server names
    them."""
    for git, path, its in _submodules(repo, commit):
        try:
            branch = read_branch(f"{SUBMODULES}{path}")
            have = _have(api, git, repo, its)
            if its not in have:
                say(f"sending the submodule {path} of {repo.root}")
                body = _bundle(git, branch, its, have)
                api.transport.read(RepositoryWithRefs, _put(repo, branch, its, body=body))
        except (Invalid, LimitReached, Failed) as problem:
            say(f"the submodule {path} stays here: {problem.message}")


def lacking_submodules(checkout: Path, commit: str) -> tuple[str, ...]:
    """Return the submodules of the checkout whose commit, as `commit` names it, is not in them: a
    pull brings none of theirs."""
    return tuple(path for own, path, its in _links(checkout, commit) if not _has(own, its))


def _submodules(repo: LocalRepo, commit: str) -> Iterator[tuple[LocalGit, str, str]]:
    """Yield each submodule of a commit whose own commit is here and whole, with its path."""
    for own, path, its in _links(repo.root, commit):
        if _has(own, its) and own.ask("rev-parse", "--is-shallow-repository") == "false":
            yield own, path, its


def _has(git: LocalGit, commit: str) -> bool:
    return git.try_("cat-file", "-e", f"{commit}^{{commit}}").code == 0


def _links(checkout: Path, commit: str) -> Iterator[tuple[LocalGit, str, str]]:
    """Yield each submodule of a commit that has a repository here: git there, path and commit."""
    git = LocalGit(checkout)
    if git.try_("cat-file", "-e", f"{commit}:{MODULES}").code != 0:
        return
    top = Path(git.ask("rev-parse", "--show-toplevel"))
    shared = git.ask("rev-parse", "--path-format=absolute", "--git-common-dir")
    for line in git.ask("ls-tree", "-r", "-z", "--full-tree", commit).split("\0"):
        entry, _, path = line.partition("\t")
        if not entry.startswith("160000 "):
            continue
        laid_out = top / path
        own = LocalGit(laid_out if (laid_out / ".git").exists() else Path(shared, "modules", path))
        if own.folder.is_dir():
            yield own, path, entry.split()[2]


@contextmanager
def _patience(say: Callable[[str], None] | None, branch: str) -> Iterator[None]:
    """Say what a long answer waits for: the server checks a few uploads at once, in turn."""
    told = f"waiting for the server's check of {branch}, which has its turn among other uploads"
    timer = threading.Timer(PATIENCE_SECONDS, say or _silent, (told,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _silent(_: str) -> None:
    return


def send_branch(api: Client, checkout: Path, branch: str, *, key: str) -> None:
    """Send what the server lacks of one branch of the checkout that was uploaded as `key`. Raises
    `Invalid` for another checkout, and as `describe`."""
    repo = describe(checkout)
    if repo.key != key:
        raise Invalid(
            f"{repo.root} is not the checkout this sandbox was made from: name that one by -C."
        )
    git = LocalGit(repo.root)
    commit = find_branch(repo, branch)
    if commit is None:
        raise Invalid(f"{repo.root} has no branch {branch!r}: name one by --onto.", field="onto")
    have = _have(api, git, repo, commit)
    body: bytes | Iterator[bytes] = b"" if commit in have else _bundle(git, branch, commit, have)
    api.transport.read(RepositoryWithRefs, _put(repo, branch, commit, body=body))


def _have(api: Client, git: LocalGit, repo: LocalRepo, commit: str) -> list[str]:
    asked = post("repositories", "local", repo.key, "have", value={"tips": _tips(git, commit)})
    return api.transport.read(Have, asked).have


def _put(repo: LocalRepo, branch: str, commit: str, *, body: bytes | Iterator[bytes]) -> Call:
    return Call(
        "PUT",
        at("repositories", "local", repo.key),
        (("name", repo.name), ("head", branch), ("tip", commit), ("repo_url", repo.repo_url)),
        (("Content-Type", "application/x-git-bundle"),),
        body,
        timeout=UPLOAD_SECONDS,
    )


def _bundle(git: LocalGit, branch: str, commit: str, have: list[str]) -> Iterator[bytes]:
    """Yield a bundle of `commit` as `branch`. It is made in a repository of its own that borrows
    every object: a branch of the remote has no name here that the server takes."""
    lacking = "".join(f"^{tip}\n" for tip in have).encode()
    objects = git.ask("rev-parse", "--path-format=absolute", "--git-path", "objects")
    with tempfile.TemporaryDirectory(prefix="atoll-send-") as folder:
        own = LocalGit(Path(folder))
        own.ask("init", "-q", "--bare", "--template=", ".")
        (own.folder / "objects" / "info" / "alternates").write_text(f"{objects}\n")
        own.ask("update-ref", f"refs/heads/{branch}", commit)
        create = ("bundle", "create", "-q", "-", f"refs/heads/{branch}", "--stdin")
        with own.reading(*create, stdin=lacking) as out:
            while piece := out.read(PIECE_BYTES):
                yield piece


def _tips(git: LocalGit, commit: str) -> list[str]:
    """Return commits to ask for: ever farther back on the first-parent line, and other tips."""
    line = git.ask("rev-list", "--first-parent", "--max-count=200000", commit).split()
    steps = [0, *(2**power for power in range(18) if 2**power < len(line)), len(line) - 1]
    listed = git.ask(
        "for-each-ref", "--sort=-committerdate", "--format=%(objecttype) %(objectname)",
        f"--count={MAX_TIPS - len(steps)}", "refs/heads", "refs/remotes",
    )  # fmt: skip
    others = [words[1] for words in map(str.split, listed.splitlines()) if words[0] == "commit"]
    return list(dict.fromkeys([*(line[step] for step in steps), *others]))


def _key(git: LocalGit) -> str:
    shared = git.ask("rev-parse", "--path-format=absolute", "--git-common-dir")
    said = "\0".join(("atoll-local", platform.node(), str(os.getuid()), os.path.realpath(shared)))
    return hashlib.sha256(said.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _origin(git: LocalGit) -> str:
    url = git.try_("config", "--get", "remote.origin.url").text
    try:
        # A user name in an address is common and of no use elsewhere; a password must not go.
        return read_remote(_USER.sub(r"\1", url)).repo_url if url else ""
    except AtollError:
        return ""
