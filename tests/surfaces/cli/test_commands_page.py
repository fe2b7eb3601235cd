"""docs/use/commands.md and the commands say the same."""

import re
from pathlib import Path

import pytest

from atoll.surfaces.cli import command_table as commands
from atoll.surfaces.cli.console import exits
from scripts.command_page import page_of
from tests.places import ROOT

PAGE = (ROOT / "docs" / "use" / "commands.md").read_text()
SECTIONS = dict(re.findall(r"^## `atoll ([a-z-]+)`\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.M))


def test_page_has_a_section_for_every_command_and_no_other() -> None:
    assert list(SECTIONS) and set(SECTIONS) == set(commands.command_names())


def test_tables_are_those_of_the_help() -> None:
    assert page_of(PAGE) == PAGE, "run python -m scripts.command_page"


@pytest.mark.parametrize("name", commands.command_names())
def test_section_shows_the_command_in_use_first(name: str) -> None:
    assert SECTIONS[name].lstrip().startswith("```console\n$ ")
    assert f"atoll {name}" in SECTIONS[name].partition("```\n")[0]


def test_page_lists_every_exit_code() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.M)}
    known = {v for k, v in vars(exits).items() if k.isupper() and isinstance(v, int)}
    assert listed == known - {exits.SIGNALLED}


def test_page_names_every_variable_the_command_line_reads() -> None:
    source = Path(commands.__file__).parent
    read = {
        name
        for path in source.rglob("*.py")
        for name in re.findall(r"\"((?:ATOLL_[A-Z_]+|NO_COLOR))\"", path.read_text())
    } - {"_ATOLL_COMPLETE"}
    assert {name for name in read if f"`{name}`" not in PAGE and f"{name}=1" not in PAGE} == set()
