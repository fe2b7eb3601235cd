import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.surfaces.cli.commands.terminals.test_attach import PersonTty, person_tty
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted, Seen, problem, tree_of

TIP = "0123456789abcdef0123456789abcdef01234567"
WORK = [
    {
        "path": "/workspace",
        "repo": 0,
        "branch": "fix",
        "commits": 2,
        "tip": TIP,
        "subject": "mend \x1b[2Jit",
        "stashes": 1,
        "changed": ["src/a.py"],
        "untracked": [f"new-{n}" for n in range(12)],
        "more": 7,
    }
]
DESTROY = "/v1/sandboxes/sb_one/destroy"
RECREATE = "/v1/sandboxes/sb_one/recreate"


@pytest.fixture
def one(server: Scripted, environ: dict[str, str], tmp_path: Path) -> dict[str, Any]:
    """A sandbox with work, and a home of the person's for what is kept."""
    environ["HOME"] = str(tmp_path / "own")
    server.trees[""] = tree_of(**{"src/a.py": b"changed", "Makefile": b"all:"})
    server.answers["GET /v1/sandboxes/sb_one/bundle"] = _bundle
    return server.add("one", unpulled=WORK, repos=[{"repo_url": "x"}])


def _bundle(seen: Seen) -> web.StreamResponse:
    assert seen.query == {"repo": "0", "all": "true"}
    return web.Response(body=b"the bundle")


HELD = {
    "kept_id": "kept_1", "repo": 0, "branch": "a;touch ran", "ref": "r", "commit": TIP,
    "commits": 2, "subject": "s", "pushed_at": "2026-01-01T00:00:00Z",
    "kept_until": "2126-01-01T00:00:00Z",
}  # fmt: skip


@pytest.mark.parametrize("command", ["stop", "destroy", "recreate"])
def test_held_pushes_are_named_and_hinder_nothing(cli: Cli, server: Scripted, command: str) -> None:
    server.add("one", held=[HELD])
    ran = cli(command, "one", *(() if command == "stop" else ("--yes",)))
    assert ran.code == 0
    assert "one pushed a;touch ran (2 new commits), held until 2126-01-0" in ran.err
    ref = "sb_one" if command == "destroy" else "one"
    assert f"`atoll pull {ref} --pushed 'a;touch ran'`" in ran.err


@pytest.mark.parametrize(("command", "route"), [("destroy", DESTROY), ("recreate", RECREATE)])
def test_work_is_told_and_nothing_done_where_nobody_can_be_asked(
    cli: Cli, server: Scripted, one: dict[str, Any], command: str, route: str
) -> None:
    ran = cli(command, "one")
    assert ran.code == 1
    assert "one holds work that was not pulled: /workspace: 2 commits up to 0123456789ab" in ran.err
    assert "mend \\x1b[2Jit), 1 stash, 1 file changed, 12 files untracked, 7 more" in ran.err
    assert "changed    src/a.py" in ran.err and "untracked  new-8" in ran.err
    assert "new-9" not in ran.err and "and 10 more" in ran.err
    assert "--keep-worktree" in ran.err and "--yes" in ran.err
    assert not server.requests("POST", route)
    assert cli(command, "one", "--yes").code == 0
    assert server.requests("POST", route)


def test_recreate_says_where_the_work_is_saved(cli: Cli, one: dict[str, Any]) -> None:
    assert "`atoll pull --saved` brings it" in cli("recreate", "one").err
    assert "atoll pull one --saved" in cli("recreate", "one", "--yes").out


def test_work_that_cannot_be_told_counts_as_work(
    cli: Cli, server: Scripted, one: dict[str, Any]
) -> None:
    server.answers["GET /v1/sandboxes/sb_one/unpulled"] = lambda _: problem(409, "gone", "no wall")
    ran = cli("destroy", "one")
    assert ran.code == 1 and "cannot be listed (no wall)" in ran.err
    assert not server.requests("POST", DESTROY)


def test_stop_only_tells(cli: Cli, one: dict[str, Any]) -> None:
    ran = cli("stop", "one")
    assert ran.code == 0 and "one is stopped" in ran.out
    assert "2 commits up to" in ran.err


@pytest.mark.parametrize(("command", "route"), [("destroy", DESTROY), ("recreate", RECREATE)])
def test_kept_files_are_written_before_the_sandbox_goes(
    cli: Cli, server: Scripted, one: dict[str, Any], tmp_path: Path, command: str, route: str
) -> None:
    ran = cli(command, "one", "--keep-worktree")
    assert ran.code == 0, ran.err
    kept = tmp_path / "own" / "atoll-kept" / "one"
    assert f"kept {kept}\nkept {kept}.bundle\n" in ran.out
    assert (kept / "src" / "a.py").read_bytes() == b"changed"
    assert Path(f"{kept}.bundle").read_bytes() == b"the bundle"
    assert "Makefile" in ran.err
    order = [seen.path.rsplit("/", 1)[-1] for seen in server.seen]
    assert order.index("archive") < order.index("bundle") < order.index(command)
    # A second one of the name takes another.
    server.sandboxes["one"]["state"] = "ready"
    assert f"kept {kept}-2\n" in cli(command, "one", "--keep-worktree").out
    said = json.loads(cli("kept", "--json").out)
    assert [one["path"] for one in said["here"]] == [f"{kept}-2", str(kept)]
    assert cli("prune", "--kept", "--yes", "--older-than", "1h").code == 0
    assert kept.is_dir()
    assert str(kept) in cli("prune", "--kept", "--yes").out
    assert list(kept.parent.iterdir()) == []


def _cut(body: bytes) -> web.StreamResponse:
    """An answer that announces more than comes."""
    answer = web.Response(body=body, headers={"Content-Length": str(len(body) + 10)})
    answer.force_close()
    return answer


BROKEN = {
    "cut": lambda _: _cut(tree_of(a=b"x" * 3000)[:2048]),
    "cut behind its end": lambda _: _cut(tree_of(a=b"x")),
    "leads out": lambda _: web.Response(body=tree_of(**{"../out": b"x"})),
    "holds a secret": lambda _: problem(409, "holds_secret", "it holds one"),
    "two names of git": lambda _: web.Response(body=tree_of(**{".git": b"", ".git.kept": b""})),
}


@pytest.mark.parametrize("how", BROKEN)
def test_files_that_cannot_be_kept_whole_leave_the_sandbox_and_nothing_half(
    cli: Cli, server: Scripted, one: dict[str, Any], tmp_path: Path, how: str
) -> None:
    server.answers["GET /v1/sandboxes/sb_one/files/archive"] = BROKEN[how]
    ran = cli("destroy", "one", "--keep-worktree", "--yes")
    assert ran.code != 0
    assert "the files of one were not kept, so it was left as it is" in ran.err
    assert not server.requests("POST", DESTROY)
    assert list((tmp_path / "own" / "atoll-kept").iterdir()) == []


def test_bundle_that_breaks_off_leaves_the_sandbox(
    cli: Cli, server: Scripted, one: dict[str, Any], tmp_path: Path
) -> None:
    server.answers["GET /v1/sandboxes/sb_one/bundle"] = lambda _: _cut(b"half a bundle")
    ran = cli("destroy", "one", "--keep-worktree", "--yes")
    assert ran.code != 0 and "broke" in ran.err
    assert not server.requests("POST", DESTROY)
    assert list((tmp_path / "own" / "atoll-kept").iterdir()) == []


def test_secret_is_kept_only_when_asked_for(
    cli: Cli, server: Scripted, one: dict[str, Any]
) -> None:
    cli("destroy", "one", "--keep-worktree", "--with-secrets", "--yes")
    (asked,) = server.requests("GET", "/v1/sandboxes/sb_one/files/archive")
    assert asked.query["secrets"] == "allow"


def test_one_folder_for_two_sandboxes_is_a_usage_error(
    cli: Cli, server: Scripted, one: dict[str, Any], tmp_path: Path
) -> None:
    server.add("two")
    assert cli("destroy", "one", "two", "--to", str(tmp_path / "x"), "--yes").code == 2
    assert not server.requests("POST", DESTROY)


@pytest.fixture
def asked(environ: dict[str, str], one: dict[str, Any]) -> Iterator[PersonTty]:
    with person_tty(environ, "destroy", "one") as tty:
        tty.expect(b"n: leave it")
        assert b"Destroy one?" in tty.seen and b"2 commits up to" in tty.seen
        yield tty


@pytest.mark.parametrize(
    ("answer", "code", "said", "destroyed"),
    [
        (b"\r", 1, b"", False),
        (b"n\r", 1, b"", False),
        (b"y\r", 0, b"one is destroyed", True),
        (b"k\r", 0, b"atoll-kept/one", True),
    ],
)
def test_person_is_asked_what_becomes_of_the_work(
    asked: PersonTty, server: Scripted, answer: bytes, code: int, said: bytes, destroyed: bool
) -> None:
    asked.type(answer)
    assert asked.ends() == code
    assert said in asked.seen
    assert bool(server.requests("POST", DESTROY)) is destroyed


def test_prune_names_the_work_that_would_be_lost(cli: Cli, server: Scripted) -> None:
    server.add("one", unpulled=WORK, state="expired", repos=[{"repo_url": "x"}])
    told = "one holds work that was not pulled: /workspace: 2 commits up to"
    assert told in cli("prune", "--dry-run").err
    ran = cli("prune")
    assert told in ran.err
    assert ran.code == 1 and "is lost. There is no terminal to ask at" in ran.err
    assert not server.requests("POST", DESTROY)


@pytest.mark.parametrize("command", [("destroy", "one", "two"), ("prune", "--stopped")])
def test_yes_destroys_no_sandbox_whose_work_cannot_be_listed(
    cli: Cli, server: Scripted, command: tuple[str, ...]
) -> None:
    server.add("one", state="stopped")
    server.add("two", state="stopped")
    unlisted = "GET /v1/sandboxes/sb_one/unpulled"
    server.answers[unlisted] = lambda _: problem(502, "failed", "git is broken")
    ran = cli(*command, "--yes")
    assert ran.code == 1
    assert "one cannot be listed (git is broken)" in ran.err and "--lose-work" in ran.err
    assert not server.requests("POST", DESTROY)
    assert server.requests("POST", "/v1/sandboxes/sb_two/destroy")
    assert cli(*command[:2], "--yes", "--lose-work").code == 0
    assert server.requests("POST", DESTROY)
