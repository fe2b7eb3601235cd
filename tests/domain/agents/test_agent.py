import pytest

from atoll.domain.agents.agent import (
    Agent,
    Package,
    agents_by_name,
    layer_path,
    needed_programs,
    plain_prompt,
    read_version,
    split_reference,
    takes_prompts,
)
from atoll.domain.errors import Invalid


def test_split_reference_gives_name_and_version() -> None:
    assert split_reference("codex") == ("codex", None)
    assert split_reference("codex@0.171.0") == ("codex", "0.171.0")


@pytest.mark.parametrize("text", ["", "..", "1..2", "a/b", "-g", "1 2", "1\n", "x" * 65, "1@2"])
def test_read_version_refuses_what_could_leave_its_folder(text: str) -> None:
    with pytest.raises(Invalid):
        read_version(text)


@pytest.mark.parametrize("text", ["0.171.0", "1.0.0-rc.1+build_2", "1!2.0", "2"])
def test_read_version_takes_what_registries_use(text: str) -> None:
    assert read_version(text) == text


def test_agent_answers_to_its_name_and_aliases_and_lies_under_its_name() -> None:
    claude = Agent("claude", "claude", ("claude",), ("claude", "-p"), aliases=("claude-code",))
    codex = Agent("codex", "codex", ("codex",), ("codex", "exec"))
    assert agents_by_name((claude, codex)) == (
        ("claude", claude), ("claude-code", claude), ("codex", codex),
    )  # fmt: skip
    assert layer_path(claude).endswith("/claude")


def test_plain_shell_takes_no_prompt() -> None:
    assert not takes_prompts(Agent("shell", "bash", ("bash",), ()))
    assert takes_prompts(Agent("codex", "codex", ("codex",), (), state=(".codex",)))


def test_agent_of_a_package_names_the_programs_it_runs_on() -> None:
    node = Package("npm", "some", "1.0.0", ("bin/some",), needs=("node",))
    assert needed_programs(Agent("some", "some", ("some",), (), package=node)) == ("node",)
    assert needed_programs(Agent("shell", "bash", ("bash",), ())) == ()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ('say "a", `b` and $C\n\n\tindented: größer', 'say "a", `b` and $C\n\n\tindented: größer'),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("\x1b[1;31mred\x1b[0m \x1b]0;title\x07x\x1b]8;;u\x1b\\y", "red xy"),
        ("\x1b[201~\x1b\x03rm -rf\x08\x7f\x9b2J", "rm -rf2J"),
        ("\x1b]never ends", ""),
        ("\x1b(Bplain\x1b", "plain"),
    ],
)
def test_prompt_holds_nothing_that_acts_as_keys_or_commands(words: str, text: str) -> None:
    assert plain_prompt(words) == text
