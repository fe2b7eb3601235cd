"""What a shell completes, asked of the server where it must be."""

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
