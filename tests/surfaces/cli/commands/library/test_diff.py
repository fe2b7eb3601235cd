import json
from functools import partial
from typing import Any

import pytest
from aiohttp import web

from atoll.domain.errors import Invalid
from atoll.surfaces.cli.console.diff_lines import find_pager
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted, Seen

HOSTILE = "ev\x1b[2Jil"
FILE = {
    "path": HOSTILE,
    "old_path": None,
    "old_mode": None,
    "new_mode": "100644",
    "binary": False,
    "truncated": False,
    "hunks": [
        {
            "old_start": 1,
            "old_lines": 1,
            "new_start": 1,
            "new_lines": 2,
            "heading": "def \x1b]0;x\x07",
            "lines": ["-a", "+b\x1b[31m\tc\r", "+\u202ed"],
        }
    ],
}
CHANGED = {"path": HOSTILE, "kind": "added", "additions": 2, "deletions": 1, "untracked": True}


@pytest.fixture
def asked(server: Scripted) -> list[Seen]:
    """The requests for changes and diffs of `box`."""
    server.add("box")
    seen: list[Seen] = []
    diff: dict[str, Any] = {"truncated": True, "files": [FILE]}
    renamed = {"path": "b", "old_path": "a", "kind": "renamed", "binary": True}
    changes = {"commits": 1, "total": 3, "additions": 2, "deletions": 1}
    listed = {**changes, "files": [CHANGED, renamed]}

    def answered(value: dict[str, Any]) -> Any:
        def answer(request: Seen) -> web.StreamResponse:
            seen.append(request)
            return web.json_response(value)

        return answer

    server.answers["GET /v1/sandboxes/box/diff"] = answered(diff)
    server.answers["GET /v1/sandboxes/box/changes"] = answered(listed)
    return seen


def test_diff_spells_control_characters_out(cli: Cli, asked: list[Seen]) -> None:
    ran = cli("diff", "box", "--uncommitted", "-w", "--repo", "1", "src")
    assert ran.code == 0 and "too long" in ran.err
    assert ran.out.splitlines() == [
        "diff --git a/ev\\x1b[2Jil b/ev\\x1b[2Jil",
        "new file mode 100644",
        "--- /dev/null",
        "+++ b/ev\\x1b[2Jil",
        "@@ -1,1 +1,2 @@ def \\x1b]0;x\\x07",
        "-a",
        "+b\\x1b[31m  c\\x0d",
        "+\\u202ed",
    ]
    assert asked[0].query == {
        "repo": "1", "against": "uncommitted", "path": "src", "whitespace": "false",
    }  # fmt: skip


def test_stat_lists_files_and_sums(cli: Cli, asked: list[Seen]) -> None:
    ran = cli("diff", "box", "--stat", "--turn")
    assert ran.out.splitlines() == [
        "? ev\\x1b[2Jil  +2 -1",
        "R a => b       binary",
        "and 1 more",
        "3 files changed, +2 -1, 1 commit",
    ]
    assert asked[0].query["against"] == "turn"


def _answer(value: dict[str, Any], _: Seen) -> web.StreamResponse:
    return web.json_response(value)


def test_path_without_changes_is_named(cli: Cli, server: Scripted, asked: list[Seen]) -> None:
    said = "has no changes, or is not there"
    ran = cli("diff", "box", "--stat", "nosuch")
    assert ran.code == 0 and "has no" not in ran.err, "more files changed than are listed"
    for files, silent in (([FILE], HOSTILE), ([{**FILE, "path": "src/a"}], "./src/")):
        answer = {"truncated": False, "files": files}
        server.answers["GET /v1/sandboxes/box/diff"] = partial(_answer, answer)
        ran = cli("diff", "box", silent, "sr", "nosuch")
        assert ran.code == 0
        assert [line for line in ran.err.splitlines() if said in line] == [
            f"{path} {said}: paths begin at the repository's top" for path in ("sr", "nosuch")
        ]


def test_whole_tree_without_changes_is_said(cli: Cli, server: Scripted) -> None:
    answer = {"truncated": False, "files": []}
    server.answers["GET /v1/sandboxes/box/diff"] = partial(_answer, answer)
    assert "nothing changed" in cli("diff", "box", ".").err


def test_pager_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(Invalid, match="set PAGER"):
        find_pager({"PAGER": "less 'unclosed"})
    assert find_pager({"PAGER": "/no/such"}) == []


def test_json_is_the_answer(cli: Cli, asked: list[Seen]) -> None:
    assert json.loads(cli("diff", "box", "--json").out)["files"][0]["path"] == HOSTILE
    assert json.loads(cli("diff", "box", "--stat", "--json").out)["total"] == 3
    assert cli("diff", "box", "--turn", "--uncommitted").code == 2


def test_checkpoints_are_listed_and_gone_back_to(
    cli: Cli, server: Scripted, asked: list[Seen]
) -> None:
    one = {"number": 7, "at": "2026-01-01T00:00:00Z", "subject": "Before \x1b[2Ja turn"}
    base = "/v1/sandboxes/box/checkpoints"
    server.answers[f"GET {base}"] = lambda _: web.json_response({"checkpoints": [one]})
    server.answers[f"POST {base}/7/restore"] = lambda _: web.json_response({"saved": 8})
    assert "Before \\x1b[2Ja turn" in cli("checkpoints", "box").out
    refused = cli("rewind", "box", "7")
    assert refused.code == 1 and "3 files changed" in refused.err
    assert asked[0].query == {"repo": "0", "against": "turn", "checkpoint": "7"}
    assert (
        cli("rewind", "box", "7", "--yes").out.splitlines()[1] == "`atoll rewind box 8` undoes that"
    )
    assert json.loads(cli("rewind", "box", "7", "--yes", "--json").out) == {"saved": 8}
    server.answers[f"GET {base}"] = lambda _: web.json_response({"checkpoints": []})
    assert "no checkpoints" in cli("checkpoints", "box").err
    assert json.loads(cli("checkpoints", "box", "--json").out) == {"checkpoints": []}
