from atoll.domain.interior.entry import entry_steps


def test_entry_steps_name_home_prefixes_and_identity() -> None:
    home, prefixes, git = entry_steps({})
    assert home.startswith("Home /home/agent: 1024 MiB of memory") and "~/.codex" in home
    assert prefixes == "Programs are installed to: npm ~/.npm-global, pip ~/.local, cargo ~/.cargo."
    assert git == "Git commits as agent <agent@localhost>."


def test_entry_steps_follow_the_environment_and_name_what_was_configured() -> None:
    env = {"CARGO_HOME": "/workspace/.cargo", "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "a@b"}
    _home, prefixes, git, files = entry_steps(env, [".claude/settings.json"])
    assert prefixes.endswith("cargo /workspace/.cargo.")
    assert git == "Git commits as Ada <a@b>."
    assert files == "Configuration from this machine: ~/.claude/settings.json."
