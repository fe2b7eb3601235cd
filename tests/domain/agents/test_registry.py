import json
import tomllib

import pytest

from atoll.domain.agents.conversation import Terms
from atoll.domain.agents.readers import CONVERSATIONS, TRANSCRIPTS
from atoll.domain.agents.registry import AGENTS, HOME_STATE, allowed_agents, canonical_name, find
from atoll.domain.errors import NotFound


def test_each_agent_is_found_by_its_names() -> None:
    assert [agent.name for agent in AGENTS] == sorted(agent.name for agent in AGENTS)
    assert {"claude-code", "codex", "shell"} <= {agent.name for agent in AGENTS}
    for agent in AGENTS:
        assert all(find(name) is agent for name in (agent.name, *agent.aliases))
    with pytest.raises(NotFound, match=r"no agent is called 'nobody'; known: .*codex"):
        find("nobody")


def test_allowed_agents_are_those_of_the_setting() -> None:
    assert allowed_agents(None) == AGENTS
    assert [agent.name for agent in allowed_agents(("shell", "codex"))] == ["codex", "shell"]
    assert allowed_agents(()) == ()


def test_names_of_kept_state_stay_as_they_are_on_disks() -> None:
    assert set(HOME_STATE) >= {
        ("claude", ".claude"), ("codex", ".codex"), ("opencode", ".local/share/opencode"),
        ("opencode-config", ".config/opencode"), ("qwen", ".qwen"), ("gemini", ".gemini"),
        ("aider", ".aider"), ("cursor", ".cursor"),
    }  # fmt: skip


def test_kept_state_has_one_name_and_one_place_each() -> None:
    for column in zip(*HOME_STATE, strict=True):
        assert len(set(column)) == len(HOME_STATE)


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_readers_that_an_agent_names_are_there(agent: object) -> None:
    known = next(one for one in AGENTS if one is agent)
    assert not known.transcript or known.transcript in TRANSCRIPTS
    assert known.machine is None or known.machine.protocol in CONVERSATIONS


def test_each_reader_serves_an_agent_and_can_be_made() -> None:
    assert set(TRANSCRIPTS) == {agent.transcript for agent in AGENTS} - {""}
    assert set(CONVERSATIONS) == {agent.machine.protocol for agent in AGENTS if agent.machine}
    for reader in TRANSCRIPTS.values():
        assert reader().take({}) == []
    for conversation in CONVERSATIONS.values():
        conversation(Terms("/workspace")).begin()


MODES = {
    "claude-code": ("--permission-mode", "bypassPermissions", "default"),
    "qwen-code": ("--approval-mode", "yolo", "default"),
    "gemini-cli": ("--approval-mode", "yolo", "default"),
}


@pytest.mark.parametrize("name", MODES)
def test_every_start_names_the_permission_mode(name: str) -> None:
    agent, (option, allowing, asking) = find(name), MODES[name]
    machine = agent.machine
    assert machine is not None
    starts = (agent.argv, agent.task_argv, agent.resume_argv, agent.conversation_argv)
    for argv in (*starts, *filter(None, (agent.fork_argv,))):
        assert argv[argv.index(option) + 1] == allowing, argv
    asks = (*machine.argv, *machine.ask_argv)
    assert asks[asks.index(option) + 1] == asking
    allows = (*machine.argv, *machine.allow_argv)
    # By ACP, Atoll itself approves where everything is allowed.
    assert allows[allows.index(option) + 1] == (asking if machine.protocol == "acp" else allowing)


def test_policy_below_etc_is_what_each_agent_reads() -> None:
    (policy,) = find("claude-code").etc
    settings = json.loads(policy.content)
    assert policy.path.startswith("claude-code/managed-settings.d/")
    assert settings["permissions"] == {"disableAutoMode": "disable"}
    assert "Stop" in settings["hooks"]
    files = {one.path: tomllib.loads(one.content) for one in find("codex").etc}
    hooks = files["codex/requirements.toml"]["hooks"]
    assert hooks.pop("managed_dir") == "/etc/codex" and "Interrupt" in hooks
    assert [one[0]["hooks"][0]["timeout"] for one in hooks.values()] == [5] * 6 + [3]
    # Tables are merged: a key's variable would be needed with a login, too.
    assert not {"model_provider", "model_providers"} & set(files["codex/config.toml"])
    assert files["codex/config.toml"]["approval_policy"] == "never"
    hooked = [seed.path for agent in AGENTS for seed in agent.seeds if "hooks" in seed.content]
    # No person writes this file, and Gemini CLI takes settings of the system from root alone.
    assert hooked == [".gemini/extensions/atoll-reports/hooks/hooks.json"]
    assert (find("gemini-cli").etc, find("gemini-cli").watch_files) == ((), ())


def test_codex_at_a_terminal_skips_the_screens_about_models_and_hooks() -> None:
    agent = find("codex")
    for argv in (agent.argv, agent.resume_argv, agent.conversation_argv, agent.fork_argv):
        assert {"--no-daemon", "--dangerously-bypass-hook-trust"} <= set(argv)
        seen = tomllib.loads(argv[argv.index("-c") + 1])["notice"]["model_migrations"]
        assert seen["gpt-5.5"] == "gpt-6-sol"


def test_machines_ask_before_they_act_whatever_the_seeds_allow() -> None:
    for agent in AGENTS:
        argv = agent.machine.argv if agent.machine else ()
        assert not {"--yolo", "--dangerously-skip-permissions"} & set(argv)
        if any('"permission":{"edit":"allow"' in seed.content for seed in agent.seeds):
            assert any('"bash":"ask"' in word for word in argv)


def test_own_name_stands_for_aliases_and_versions() -> None:
    for agent in AGENTS:
        for name in (agent.name, *agent.aliases):
            assert canonical_name(name) == canonical_name(f"{name}@1.2.3") == agent.name
    assert canonical_name("nobody@1") == "nobody"
