"""Agents that are added: fetched by a program that stands for npm, tried behind a real wall."""

import os
from pathlib import Path

import pytest

from atoll.adapters.agents.layers import InstalledLayers
from atoll.adapters.agents.shelf import LayerShelf
from atoll.domain.agents.acp.added import NewAgent
from atoll.domain.errors import Failed, Forbidden, Invalid
from atoll.zygote.jobs.programs import find_bwrap

AGENT = """#!/bin/sh
[ "$1" = acp ] || { echo "own: what?" >&2; exit 2; }
[ -z "$(ls /root 2>/dev/null)" ] && [ ! -e /etc/shadow ] || exit 3
read -r line
echo 'starting…'
echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
cat > /dev/null
"""
NPM = """#!/bin/sh
for last; do :; done
while [ "$1" != --prefix ]; do shift; done
case $last in
  node-linux-*)
    bin=$2/node_modules/${last%@*}/bin; mkdir -p "$bin"
    printf '#!/bin/sh\n[ "$1" = -v ] || exec /bin/sh "$@"\n' > "$bin/node" ;;
  lost*) echo "404 Not Found - GET $last" >&2; exit 1 ;;
  *)
    name=${last%@[0-9]*}
    mkdir -p "$2/node_modules/.bin" "$2/node_modules/$name"
    echo '{"version":"2.5.0","bin":{"own":"own.js"}}' > "$2/node_modules/$name/package.json"
    cp "$0.agent" "$2/node_modules/.bin/own"; chmod 755 "$2/node_modules/.bin/own" ;;
esac
"""


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "tools" / "npm"
    program.parent.mkdir()
    program.write_text(NPM)
    program.chmod(0o755)
    program.with_name("npm.agent").write_text(AGENT)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return program


@pytest.fixture
def shelf(tmp_path: Path) -> LayerShelf:
    return LayerShelf(tmp_path / "home" / "agents", bwrap=find_bwrap())


def quiet(_line: str) -> None:
    return


async def test_package_is_fetched_tried_and_then_known(
    tmp_path: Path, npm: Path, shelf: LayerShelf
) -> None:
    made = shelf.add(NewAgent("acp:own", "npm", "@them/own"), quiet)
    assert (made.version, made.new) == ("2.5.0", True)
    (found,) = [one for one in shelf.list() if one.agent.name == "acp:own"]
    machine = found.agent.machine
    assert machine is not None and machine.argv[-2:] == ("own", "acp")
    layers = InstalledLayers(tmp_path / "home" / "agents")
    (mount,) = await layers.mounts_for("acp:own")
    assert mount.target == "/opt/atoll/agents/acp-own"
    assert [one.name for one in layers.list_added()] == ["acp:own"]
    closed = InstalledLayers(tmp_path / "home" / "agents", ("codex",))
    assert closed.list_added() == []
    with pytest.raises(Forbidden):
        await closed.mounts_for("acp:own")
    assert [one.version for one in shelf.remove("acp:own", None)] == ["2.5.0"]
    assert not (tmp_path / "home" / "agents" / "acp-own").exists()
    with pytest.raises(Invalid, match="atoll agent add acp:own"):
        layers.known("acp:own")


def test_script_of_node_brings_a_node_of_its_own(
    tmp_path: Path, npm: Path, shelf: LayerShelf
) -> None:
    agent = npm.with_name("npm.agent")
    agent.write_text(AGENT.replace("#!/bin/sh", "#!/usr/bin/env node", 1))
    made = shelf.add(NewAgent("acp:own", "npm", "own"), quiet)
    program = Path(made.path) / "bin" / "own"
    assert (Path(made.path) / "node" / "bin" / "node").is_file()
    assert not (Path(made.path) / "bin" / "node").exists()
    assert "node_modules/.bin/own" in program.read_text()
    assert list((tmp_path / "home" / "agents" / ".node").iterdir())


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (NewAgent("acp:own", "npm", "lost"), "404 Not Found"),
        (NewAgent("acp:own", "npm", "own", "own serve"), "does not speak ACP: it ended: own: what"),
        (NewAgent("acp:own", command="true"), "does not speak ACP: it ended without a word"),
        (NewAgent("acp:own", command="no-such-program-here"), "there is no program"),
        (NewAgent("acp:own", command="a 'b"), "cannot be read"),
    ],
)
def test_what_does_not_work_is_refused_and_leaves_nothing(
    tmp_path: Path, npm: Path, shelf: LayerShelf, wanted: NewAgent, said: str
) -> None:
    with pytest.raises((Invalid, Failed), match=said):
        shelf.add(wanted, quiet)
    assert not list((tmp_path / "home" / "agents").glob("acp-*"))


def test_package_of_other_programs_is_refused(npm: Path, shelf: LayerShelf) -> None:
    npm.with_name("npm.agent").write_text("#!/bin/sh\necho hello\n")
    with pytest.raises(Invalid, match="by any of the usual commands \\(own --acp, own acp, own\\)"):
        shelf.add(NewAgent("acp:own", "npm", "own"), quiet)


def test_without_a_wall_nothing_unknown_is_started(tmp_path: Path, npm: Path) -> None:
    shelf = LayerShelf(tmp_path / "agents")
    with pytest.raises(Failed, match="--unchecked"):
        shelf.add(NewAgent("acp:own", "npm", "own"), quiet)
    shelf.add(NewAgent("acp:own", "npm", "own", "own acp", checked=False), quiet)


def test_definition_that_does_not_hold_is_of_no_agent(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    for name, text in (("acp-a", "{"), ("acp-b", '{"name":"c","argv":["c"]}'), ("acp-c", None)):
        (folder / name).mkdir(parents=True)
        if text is not None:
            (folder / name / "agent.json").write_text(text)
    assert InstalledLayers(folder).list_added() == []
