import pytest

from atoll.domain.repository.submodules import read_left_out, remotes_of
from atoll.wire.git.checkpoints import MAX_SUBMODULES

PARENT = "https://git.example.com/team/app"


def test_what_was_printed_is_read() -> None:
    assert read_left_out(b"3\0lib\0docs/theme\0") == (("lib", "docs/theme"), 3)
    assert read_left_out(b"0\0") == ((), 0)


@pytest.mark.parametrize("printed", [b"", b"many\0lib\0", "\u0663\0".encode(), b"12345678901\0"])
def test_what_an_agent_may_have_written_is_not_believed(printed: bytes) -> None:
    assert read_left_out(printed) is None


def test_paths_are_bounded_and_shown_as_text() -> None:
    paths = b"".join(b"p%d\0" % number for number in range(MAX_SUBMODULES + 9))
    assert read_left_out(b"0\0" + paths) == (tuple(f"p{n}" for n in range(MAX_SUBMODULES)), 0)
    assert read_left_out(b"0\0a\x1b[2J\0") == (("'a\\x1b[2J'",), 0)


def test_addresses_of_submodules_are_remotes_by_themselves_or_beside_their_parent() -> None:
    modules = b"""[submodule "a"]
    path = a
    url = https://git.example.com/team/a.git
[submodule "b"]
    url = ../b
    url =
[submodule "c"]
    url = ./c
[submodule "again"]
    url = https://git.example.com/team/a.git
[submodule "file"]
    url = /etc/passwd
[submodule "out"]
    url = ../../../../../x
"""
    keys = remotes_of(modules, PARENT)
    assert len(keys) == 3
    assert [key.removesuffix(".git").rpartition("/")[2] for key in keys] == ["a", "b", "c"]
