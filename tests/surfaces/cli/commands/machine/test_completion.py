"""What a shell completes, asked of the server where it must be."""

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.surfaces.cli.conftest import Cli, spawned
from tests.surfaces.cli.scripted import Scripted


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(cli: Cli, shell: str) -> None:
    assert "_ATOLL_COMPLETE" in cli("completion", shell).out


def test_completion_of_a_name_asks_the_server(environ: dict[str, str], server: Scripted) -> None:
    server.add("alpha")
    server.add("beta")
    asked = {**environ, "_ATOLL_COMPLETE": "bash_complete", "COMP_WORDS": "atoll info al"}
    done = spawned({**asked, "COMP_CWORD": "2"}).communicate(timeout=10)[0]
    assert done.split() == [b"plain,alpha"]
    done = spawned({**asked, "COMP_WORDS": "atoll inf", "COMP_CWORD": "1"}).communicate(timeout=10)[
        0
    ]
    assert done.split() == [b"plain,info"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("atoll approve ap", b"plain,ap_1"),
        ("atoll secret rm T", b"plain,TOKEN"),
        ("atoll secret set X --provider op", b"plain,openai"),
        ("atoll new --agent cod", b"plain,codex"),
        ("atoll new --preset w", b"plain,work"),
        ("atoll new --profile py", b"plain,python"),
    ],
)
def test_completion_knows_what_each_argument_may_be(
    cli: Cli, environ: dict[str, str], server: Scripted, line: str, found: bytes
) -> None:
    server.answers |= {
        "GET /v1/approvals": lambda _: web.json_response({"approvals": [{"approval_id": "ap_1"}]}),
        "GET /v1/secrets": lambda _: web.json_response({"secrets": [{"name": "TOKEN"}]}),
        "GET /v1/profiles": lambda _: web.json_response({"profiles": [{"id": "profile.python"}]}),
    }
    cli("new", "--no-wait", "--save-as", "work")
    place = str(len(line.split()) - 1)
    asked = {"_ATOLL_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": place}
    done = spawned({**environ, **asked}).communicate(timeout=20)[0]
    assert done.split() == [found]


HOSTILE = ("$(reboot)", "a;b", "x\ny", "`id`", "\x1b[2J", "a b", "a*")


def test_completion_reaches_into_a_sandbox_and_offers_plain_names_only(
    environ: dict[str, str], server: Scripted
) -> None:
    server.add("box")
    entries = [{"name": "src", "type": "dir"}, {"name": "setup.py", "type": "file"}]
    entries += [{"name": name, "type": "file"} for name in HOSTILE]
    server.answers |= {
        "GET /v1/sandboxes/box/files": lambda _: web.json_response({"entries": entries}),
        "GET /v1/sandboxes/box/recordings": lambda _: web.json_response(
            {"recordings": [{"recording_id": "rec_1"}, {"recording_id": "$(id)"}]}
        ),
    }
    assert _completed(environ, "atoll cp bo") == [b"plain,box:"]
    assert _completed(environ, "atoll cp box:") == [b"plain,box:src/", b"plain,box:setup.py"]
    assert _completed(environ, "atoll cp box:lib/s")[0] == b"plain,box:lib/src/"
    assert server.requests("GET", "/v1/sandboxes/box/files")[-1].query == {"path": "lib"}
    assert _completed(environ, "atoll play box:") == [b"plain,box:rec_1"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("atoll record box --export ", [b"rec_1"]),
        ("atoll record box --delete rec_", [b"rec_1"]),
        ("atoll share box --recording ", [b"rec_1"]),
        ("atoll share rm box ", [b"sh_1"]),
        ("atoll attach box --terminal ", [b"t_1"]),
        ("atoll open box s", [b"src/"]),
        ("atoll pull box --from ", [b"inner"]),
        ("atoll pull box m", [b"main"]),
        ("atoll sync box --onto m", [b"main"]),
        ("atoll net allow box preset:py", [b"preset:pypi"]),
        ("atoll net bo", [b"box"]),
        ("atoll inbox answer q", [b"q_1"]),
        ("atoll list --task b", [b"box"]),
    ],
)
def test_completion_knows_what_lies_in_the_sandbox_of_the_line(
    environ: dict[str, str], server: Scripted, tmp_path: Path, line: str, found: list[bytes]
) -> None:
    checkout = tmp_path / "checkout"
    identity = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    subprocess.run(["git", "init", "-q", "-b", "main", checkout], check=True)
    commit = ["git", "-C", str(checkout), *identity, "commit", "-q", "--allow-empty", "-m", "a"]
    subprocess.run(commit, check=True)
    server.add("box", repos=[{"branch": "inner"}, {"branch": "$(id)"}])
    server.terminals.append({"terminal_id": "t_1", "state": "running"})
    for path, value in {
        "sandboxes/box/files": {"entries": [{"name": "src", "type": "dir"}]},
        "sandboxes/box/recordings": {"recordings": [{"recording_id": "rec_1"}]},
        "sandboxes/box/shares": {"shares": [{"share_id": "sh_1"}]},
        "inbox": {"items": [{"id": "q_1"}]},
    }.items():
        server.answers[f"GET /v1/{path}"] = partial(_json, value)
    offered = _completed(environ, line, cwd=checkout)
    assert offered == [b"plain," + one for one in found]


def _json(value: dict[str, Any], _seen: object) -> web.Response:
    return web.json_response(value)


def test_completion_in_bash_survives_the_colon(
    cli: Cli, environ: dict[str, str], server: Scripted
) -> None:
    server.add("box")
    entries = [{"name": "src", "type": "dir"}]
    server.answers["GET /v1/sandboxes/box/files"] = lambda _: web.json_response(
        {"entries": entries}
    )
    line = "atoll cp box:s"
    script = (
        f"{cli('completion', 'bash').out}\n"
        'atoll() { "$PYTHON" -m atoll.wiring.command; }\n'
        f"COMP_LINE='{line}' COMP_POINT={len(line)}\n"
        '_atoll_completion atoll 2>/dev/null; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, **environ, "PYTHON": sys.executable},
        capture_output=True,
        timeout=20,
    )
    assert done.stdout == b"src/\n"


ZSH = """
autoload -Uz compinit && compinit -u -D -C
compadd() { while [[ $1 != -a ]]; do shift; done; print -rl -- ${(P)2}; }
eval "$SCRIPT"
words=(${=LINE}); CURRENT=${#words}
_atoll_completion
"""
"""The script's function where the shell would call it, with the words of a line."""


@pytest.mark.parametrize("shell", ["fish", "zsh"])
@pytest.mark.parametrize(
    ("line", "found"), [("atoll cp box:s", "box:src/"), ("atoll play box:", "box:rec_1")]
)
def test_completion_in_a_real_shell_reaches_into_a_sandbox(
    cli: Cli,
    environ: dict[str, str],
    server: Scripted,
    *,
    shell: str,
    line: str,
    found: str,
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}: install the package `{shell}`")
    server.add("box")
    server.answers |= {
        "GET /v1/sandboxes/box/files": lambda _: web.json_response(
            {"entries": [{"name": "src", "type": "dir"}]}
        ),
        "GET /v1/sandboxes/box/recordings": lambda _: web.json_response(
            {"recordings": [{"recording_id": "rec_1"}]}
        ),
    }
    program = ZSH if shell == "zsh" else 'echo "$SCRIPT" | source; complete -C "$LINE"'
    options = ("--no-config",) if shell == "fish" else ("-f",)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    said = {"SCRIPT": cli("completion", shell).out, "LINE": line, "PATH": path}
    done = subprocess.run(
        [shell, *options, "-c", program],
        env={**os.environ, **environ, **said, "HOME": environ["ATOLL_HOME"]},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split() == [found], done.stderr


def _completed(environ: dict[str, str], line: str, cwd: Path | None = None) -> list[bytes]:
    place = str(len(line.split(" ")) - 1)
    asked = {"_ATOLL_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": place}
    return spawned({**environ, **asked}, cwd=cwd).communicate(timeout=20)[0].splitlines()
