"""Commits of a checkout, sent to the server.

The server never opens a path; the command line uploads a git bundle of what it lacks. What is not
committed stays here.
"""

import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from atoll.client.client import Client
from atoll.client.made.library.repositories import Have, RepositoryWithRefs
from atoll.client.transport import Call, api_path, post
from atoll.domain.errors import Failed, Invalid, LimitReached
from atoll.domain.repository.branch import read_branch
from atoll.surfaces.cli.transfer.local_git import LocalGit
from atoll.surfaces.cli.transfer.local_repo import (
    LocalRepo,
    describe,
    find_start,
    whole_submodules,
)

PIECE_BYTES = 256 * 1024
MAX_TIPS = 400
SUBMODULES = "submodules/"
UPLOAD_SECONDS = 1800.0
"""The longest silence while the server checks what was sent."""

PATIENCE_SECONDS = 3.0
"""The time after which is said what an upload waits for."""


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
        _send_submodules(api, repo, commit, say=say or _say_nothing)
    for branch, commit in heads.items():
        have = _commits_on_server(api, git, repo, commit)
        body: bytes | Iterator[bytes] = b""
        if commit not in have:
            if say is not None:
                say(f"sending {branch} of {repo.root}")
            _check_whole(git, commit, have)
            body = _bundle(git, branch, commit, have)
        with _explain_wait(say, branch):
            put = _put(repo, branch, commit, body=body)
            stored = api.transport.read(RepositoryWithRefs, put)
    return stored


def send_branch(
    api: Client,
    checkout: Path,
    branch: str,
    *,
    key: str,
    say: Callable[[str], None] | None = None,
) -> None:
    """Send what the server lacks of one branch (or another start, as `find_start` knows it) of the
    checkout that was uploaded as `key`, with its submodules. The branch that sandboxes begin from
    stays. Raises `Invalid` for another checkout, and as `describe`."""
    repo = describe(checkout)
    if repo.key != key:
        raise Invalid(
            f"{repo.root} is not the checkout this sandbox was made from: name that one by -C."
        )
    git = LocalGit(repo.root)
    commit = find_start(repo, branch)
    if commit is None:
        raise Invalid(f"{repo.root} has no branch {branch!r}: name one by --onto.", field="onto")
    _send_submodules(api, repo, commit, say=say or _say_nothing)
    have = _commits_on_server(api, git, repo, commit)
    body: bytes | Iterator[bytes] = b""
    if commit not in have:
        _check_whole(git, commit, have)
        body = _bundle(git, branch, commit, have)
    put = _put(repo, branch, commit, body=body, default=False)
    api.transport.read(RepositoryWithRefs, put)


def _send_submodules(
    api: Client, repo: LocalRepo, commit: str, *, say: Callable[[str], None]
) -> None:
    """Send the commits of a commit's submodules that are here, each as a branch `submodules/PATH`
    of the same repository (`submodules/PATH@PATH` where one lies in another): from there they are
    laid out inside. Others stay; the server names them."""
    for git, paths, its in whole_submodules(repo, commit):
        path = "/".join(paths)
        try:
            branch = read_branch(f"{SUBMODULES}{'@'.join(paths)}")
            have = _commits_on_server(api, git, repo, its)
            if its not in have:
                say(f"sending the submodule {path} of {repo.root}")
                _check_whole(git, its, have)
                body = _bundle(git, branch, its, have)
                put = _put(repo, branch, its, body=body, default=False)
                api.transport.read(RepositoryWithRefs, put)
        except (Invalid, LimitReached, Failed) as problem:
            say(f"the submodule {path} stays here: {problem.message}")


@contextmanager
def _explain_wait(say: Callable[[str], None] | None, branch: str) -> Iterator[None]:
    """Say what a long answer waits for: the server checks a few uploads at once, in turn."""
    message = f"waiting for the server's check of {branch}, which has its turn among other uploads"
    timer = threading.Timer(PATIENCE_SECONDS, say or _say_nothing, (message,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _say_nothing(_: str) -> None:
    return


def _commits_on_server(api: Client, git: LocalGit, repo: LocalRepo, commit: str) -> list[str]:
    """Return which of the local commits the server already has."""
    asked = post("repositories", "local", repo.key, "have", value={"tips": _tips(git, commit)})
    return api.transport.read(Have, asked).have


def _put(
    repo: LocalRepo,
    branch: str,
    commit: str,
    *,
    body: bytes | Iterator[bytes],
    default: bool = True,
) -> Call:
    named = (("name", repo.name), ("head", branch), ("tip", commit), ("repo_url", repo.repo_url))
    return Call(
        "PUT",
        api_path("repositories", "local", repo.key),
        named if default else (*named, ("default", "false")),
        (("Content-Type", "application/x-git-bundle"),),
        body,
        timeout=UPLOAD_SECONDS,
    )


def _check_whole(git: LocalGit, commit: str, have: list[str]) -> None:
    """Raise `Invalid` where a partial clone lacks objects that a bundle of `commit` needs."""
    partial = git.try_("config", "--get-regexp", r"^remote\..*\.promisor$").text
    remotes = [line.split(".", 1)[1].rpartition(".")[0] for line in partial.splitlines()]
    if not remotes:
        return
    wanted = "".join(f"{tip}\n" for tip in (commit, *(f"^{tip}" for tip in have)))
    search = ("rev-list", "--objects", "--quiet", "--missing=print", "--stdin")
    if git.try_(*search, stdin=wanted.encode()).text:
        raise Invalid(
            f"{git.folder} is a partial clone that lacks files of earlier commits: run `git fetch "
            f"--refetch --no-filter {remotes[0]}` there first."
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
        with own.open_output(*create, stdin=lacking) as out:
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
