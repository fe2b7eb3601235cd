"""A project file in a real sandbox: nothing of it before it was approved, then all of it."""

import json
from pathlib import Path
from typing import Any

import httpx

from atoll.client.client import Client
from atoll.client.projects import Projects
from atoll.client.server import find_server
from atoll.surfaces.cli.console.plan import SandboxPlan
from atoll.surfaces.cli.transfer.origin import origins
from atoll.testing.server import TestServer
from tests.peers.api import Api
from tests.peers.git_tree import new_tree

FILE = """
setup: ["cp dev.json 'made by set-up'", "test $MADE = here", "exit 3", "touch never"]
copy: [dev.json]
network: [npm]
ports: [3000]
env: {MADE: here}
"""


def approve(atoll: TestServer, folder: Path) -> None:
    """Decide as a person at a terminal does."""
    api = Client(lambda: find_server({"ATOLL_URL": atoll.url, "ATOLL_TOKEN": atoll.token}))
    repository = origins(api, SandboxPlan(repo=str(folder)))[0].request
    projects = Projects(api.transport)
    projects.decide(repository, shown=projects.read(repository).digest, decision="approved")


def ended(atoll: TestServer, sandbox: str) -> Any:
    """The event of the end of its set-up, once it is there."""
    headers = {"Authorization": f"Bearer {atoll.token}"}
    query = {"stream": f"sandbox:{sandbox}", "after": "0"}
    with httpx.stream(
        "GET", f"{atoll.url}/v1/events/stream", params=query, headers=headers, timeout=60
    ) as stream:
        for line in stream.iter_lines():
            if line.startswith("data:") and "sandbox.setup_ended" in line:
                return json.loads(line.removeprefix("data:"))
    raise AssertionError("the stream ended before the set-up did")


def test_project_file_is_used_once_it_was_approved_and_a_failure_keeps_the_sandbox(
    atoll: TestServer, tmp_path: Path
) -> None:
    tree = new_tree(tmp_path / "work")
    tree.commit(".atoll.yaml", FILE)
    (tree.path / "dev.json").write_text("{}")
    plain = atoll.run("new", str(tree.path), "one", "--detach", "--name", "plain")
    assert plain.returncode == 0, plain.stderr
    assert "Nothing of it is used" in plain.stderr
    assert json.loads(atoll.run("info", "plain", "--json").stdout)["project"] is None
    assert atoll.run("exec", "plain", "--", "ls").stdout.split() == ["README.md"]

    approve(atoll, tree.path)
    made = atoll.run("new", str(tree.path), "two", "--detach", "--name", "proj")
    assert made.returncode == 0, made.stderr
    found = json.loads(atoll.run("info", "proj", "--json").stdout)
    over = ended(atoll, found["sandbox_id"])
    assert over["payload"]["setup"] == "failed" and "exit code 3" in over["reason"]
    inside = atoll.run("exec", "proj", "--shell", "ls; printf $MADE").stdout
    assert "made by set-up" in inside and inside.endswith("here") and "never" not in inside
    rules = json.loads(atoll.run("net", "show", "proj", "--json").stdout)
    assert "registry.npmjs.org" in json.dumps(rules)
    assert "set-up" in atoll.run("info", "proj").stdout
    again = atoll.run("project", "setup", "proj")
    assert again.returncode == 0, again.stderr
    assert atoll.run("destroy", "--yes", "plain", "proj").returncode == 0


def test_server_starts_after_the_setup_and_again_when_it_wakes(api: Api, tmp_path: Path) -> None:
    atoll, tree = api.server, new_tree(tmp_path / "work")
    serve = "echo up >> served; exec sleep infinity"
    tree.commit(
        ".atoll.yaml", f"setup: [touch built]\nservers: {{web: 'test -e built && {serve}'}}\n"
    )
    approve(atoll, tree.path)
    made = atoll.run("new", str(tree.path), "three", "--detach", "--name", "serves")
    assert made.returncode == 0, made.stderr
    first = served(api, times=1)
    assert api.act("serves", "sleep")["asleep"]
    assert served(api, times=2) == first
    assert "web: test -e built" in atoll.run("info", "serves").stdout
    assert atoll.run("destroy", "--yes", "serves").returncode == 0


def served(api: Api, *, times: int) -> str:
    """Wait until the server was started so many times; return the id of its terminal."""
    look = f"[ -e served ] && [ $(wc -l < served) -ge {times} ]"
    said = api.run("serves", f"until {look}; do sleep 0.05; done; wc -l < served")
    assert int(said) == times
    terminals = api.call("GET", "/v1/sandboxes/serves/terminals")["terminals"]
    (web,) = [one for one in terminals if one["name"] == "web"]
    assert web["state"] == "running"
    return str(web["terminal_id"])
