"""Agents that an administrator adds: names, packages and commands, and the agent they make."""

import subprocess
from pathlib import Path

import pytest

from atoll.domain.agents.acp.added import (
    AcpDefinition,
    NewAgent,
    added_agent,
    is_added,
    judge_definition,
    read_definition,
    read_name,
    read_package,
)
from atoll.domain.errors import Invalid

COPILOT = AcpDefinition(
    "copilot",
    ("copilot", "--acp"),
    "npm",
    "@github/copilot",
    "1.0.102",
    env=(("COPILOT_OFFLINE", "true"), ("COPILOT_PROVIDER_API_KEY", "$OPENAI_API_KEY")),
    state=(".copilot",),
    providers=("openai",),
)


def test_name_is_behind_its_prefix() -> None:
    assert read_name("acp:kimi-2") == "kimi-2"
    assert is_added("acp:kimi@1") and not is_added("codex")


@pytest.mark.parametrize(
    "name",
    ["kimi", "acp:", "acp:Kimi", "acp:-x", "acp:a/b", "acp:a b", "acp:..", "acp:" + "x" * 40],
)
def test_bad_name_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match="write acp:NAME"):
        read_name(name)


@pytest.mark.parametrize(
    ("registry", "text", "package"),
    [
        ("npm", "@github/copilot", ("@github/copilot", "")),
        ("npm", "@github/copilot@1.0.102", ("@github/copilot", "1.0.102")),
        ("npm", "kimi@2", ("kimi", "2")),
        ("pip", "kimi-cli==1.0", ("kimi-cli", "1.0")),
        ("pip", "kimi-cli@1.0", ("kimi-cli", "1.0")),
        ("pip", "Kimi", ("Kimi", "")),
    ],
)
def test_package_may_have_a_version(registry: str, text: str, package: tuple[str, str]) -> None:
    assert read_package(registry, text) == package  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["", "-rf", "../x", "a b", "http://x/y.tgz", "x@", "@x", "x" * 300]
)
@pytest.mark.parametrize("registry", ["npm", "pip"])
def test_bad_package_is_refused(registry: str, text: str) -> None:
    with pytest.raises(Invalid, match="is no package"):
        read_package(registry, text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "more"),
    [
        ("command", {"argv": ()}),
        ("command", {"argv": ("-x",)}),
        ("command", {"argv": ("x", "--", "y")}),
        ("command", {"argv": ("x\n",)}),
        ("env", {"env": (("1X", "y"),)}),
        ("env", {"env": (("X", "a\0"),)}),
        ("state", {"state": ("../x",)}),
        ("state", {"state": ("/etc",)}),
        ("state", {"state": (".acp/kimi",)}),
        ("provider", {"providers": ("nobody",)}),
        (None, {"state": tuple(f"s{n}" for n in range(9))}),
    ],
)
def test_bad_definition_names_its_field(field: str | None, more: dict[str, object]) -> None:
    known = {"name": "x", "argv": ("x",), **more}
    with pytest.raises(Invalid) as refusal:
        judge_definition(AcpDefinition(**known))  # type: ignore[arg-type]
    assert refusal.value.field == field


def test_agent_of_a_definition_has_a_machine_and_no_terminal() -> None:
    agent = added_agent(judge_definition(COPILOT))
    assert (agent.name, agent.argv, agent.command) == ("acp:copilot", (), "copilot")
    assert agent.machine is not None and agent.machine.protocol == "acp"
    assert agent.package is not None and agent.package.programs == ("node_modules/.bin/copilot",)
    assert agent.env == (("COPILOT_OFFLINE", "true"),)
    here = added_agent(AcpDefinition("own", ("/usr/bin/own",)))
    assert here.package is None and here.command == "own"
    pip = added_agent(AcpDefinition("py", ("py",), "pip", "py", "1"))
    assert pip.package is not None and pip.package.programs == ("venv/bin/py",)


def test_its_start_keeps_its_folders_and_takes_over_variables(tmp_path: Path) -> None:
    definition = AcpDefinition(
        "x", ("sh", "-c", "echo $A; touch ~/.deep/own/made"), env=(("A", "$B"),),
        state=(".deep/own",),
    )  # fmt: skip
    machine = added_agent(definition).machine
    assert machine is not None
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "B": 'b\'s "$(id)"'}
    for _ in range(2):
        done = subprocess.run(machine.argv, env=env, check=True, capture_output=True, text=True)
        assert done.stdout == 'b\'s "$(id)"\n'
    assert (tmp_path / ".acp/x/.deep/own/made").exists()


def test_definition_is_read_from_what_an_administrator_names() -> None:
    wanted = NewAgent("acp:own", "npm", "@them/own@1.0", "own 'a b'", env=("A=1=2", "B="))
    assert read_definition(wanted) == AcpDefinition(
        "own", ("own", "a b"), "npm", "@them/own", "1.0", env=(("A", "1=2"), ("B", ""))
    )
    newest = read_definition(NewAgent("acp:own", "pip", "own"))
    assert (newest.argv, newest.version) == (("own",), "")


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        (NewAgent("acp:own"), "command"),
        (NewAgent("acp:own", command="a 'b"), "command"),
        (NewAgent("acp:own", command="own", env=("A",)), "env"),
    ],
)
def test_what_defines_no_agent_names_its_field(wanted: NewAgent, field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        read_definition(wanted)
    assert refusal.value.field == field
