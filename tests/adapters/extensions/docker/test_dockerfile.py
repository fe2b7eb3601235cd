"""What a Dockerfile may ask of the daemon, and what its folder may hold: no daemon is needed."""

import io
import os
import socket
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.adapters.extensions.docker.context import pack, read_ignored, recipe_of
from atoll.adapters.extensions.docker.dockerfile import check_triggers, may_be_base, read_recipe
from atoll.adapters.extensions.docker.pulls import is_reference
from atoll.adapters.extensions.docker.settings import BuildRules
from atoll.domain.errors import Invalid, LimitReached
from atoll.wiring.control.settings import read_settings

MIB = 2**20

HARMLESS = r"""
# syntax=docker/dockerfile:1
# escape=\

ARG VERSION=12
FROM debian:12 AS base
RUN apt-get update \
    # a word in between
 && apt-get install -y \

    git
ADD --chown=1000:1000 files/a.tar.gz /x
COPY --from=base /etc/passwd /etc/other
FROM base
COPY --from=0 --chmod=755 /a /b
COPY --from=registry.example/tools:1 /bin/tool /bin/
add ["a.file", "/b"]
from --platform=linux/amd64 alpine@sha256:{digest} as last
FROM scratch
ONBUILD RUN echo later
CMD ["sh"]
""".replace("{digest}", "0" * 64)


def test_recipe_that_only_uses_its_folder_and_images_names_them() -> None:
    assert read_recipe(HARMLESS, is_reference).bases == (
        "debian:12",
        "registry.example/tools:1",
        f"alpine@sha256:{'0' * 64}",
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no FROM"),
        ("RUN true", "first instruction"),
        ("FROM a\nADD http://169.254.169.254/latest /x", "plain files"),
        ('FROM a\nADD ["http\\u003a//169.254.169.254/", "/x"]', "plain files"),
        ("FROM a\nARG U=http://x/\nADD $U /x", "plain files"),
        ("FROM a\nADD git@example.com:o/r /x", "plain files"),
        ("FROM a\nADD --checksum=sha256:0 x /x", "ADD takes"),
        ("FROM a\nADD a.tar \\\n  https://example.com/b.tar /x", "plain files"),
        ("FROM a\nONBUILD ADD http://169.254.169.254/ /x", "plain files"),
        ("FROM a\nONBUILD ONBUILD RUN x", "cannot be"),
        ("FROM a\nONBUILD", "no instruction"),
        ("FROM a\nRUN --security=insecure id", "no flags"),
        ("FROM a\nRUN --mount=type=bind,from=other,target=/x id", "no flags"),
        ("FROM a\nRUN --network=host id", "no flags"),
        ("FROM a\nCOPY --link x /x", "COPY takes"),
        ("FROM a\nCOPY --from=$X x /x", "COPY takes"),
        ("FROM a\nCOPY --from=7 x /x", "names no image|not there"),
        ("FROM a:$VERSION", "names no image"),
        ("FROM ../x", "names no image"),
        ("FROM a b", "takes an image"),
        ("FROM", "takes an image"),
        ("FROM --weird=x a", "takes an image"),
        ("FROM a\nFETCH x", "no instruction"),
        ("FROM a\nRUN <<EOF\nRUN x\nEOF", "no here-document"),
        ("FROM a AS ../x", "name a stage"),
        ("FROM a\nCOPY --from=" + "9" * 5000 + " x /x", "names no image"),
        ("FROM a\nRUN " + "x" * 70_000, "longer than"),
        ("FROM a\nCOPY <<EOF /x\nADD http://x/ /y\nEOF", "plain files|no instruction"),
        ("FROM a\nRUN echo \\\\\nADD http://x/ /y", "two backslashes"),
        ("# escape=`\nFROM a\nRUN echo `\nADD http://x/ /y", "escape character"),
        ("FROM a\nADD\x0bhttp://x/ /y", "no instruction"),
        ('FROM a\nADD ["x", 1]', "holds texts"),
        ('FROM a\nADD ["x", "/y"', "not JSON"),
        ("FROM a\n" + "#" * 300_000, "larger"),
    ],
)
def test_recipe_that_asks_for_more_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        read_recipe(text, lambda image: is_reference(image) and not image.isdigit())


@pytest.mark.parametrize(
    "text",
    [
        "FROM a\nRUN true \\\n\x1c\nADD http://127.0.0.1/ /x",
        "FROM a\nRUN true \\\r\r\nADD http://127.0.0.1/ /x",
        "FROM a\nRUN true\rADD http://127.0.0.1/ /x",
        "FROM a\nRUN true \\\n\x85\nADD http://127.0.0.1/ /x",
        "FROM a\nRUN true \\\n\u2028\nADD http://127.0.0.1/ /x",
        "FROM a\n# a word \x0b\nRUN true",
        "FROM a\nRUN\u00a0true",
        "FROM a\x00",
    ],
)
def test_character_that_another_reader_may_take_otherwise_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="no instruction may hold"):
        read_recipe(text, is_reference)
    with pytest.raises(Invalid, match="asks whoever builds on it"):
        check_triggers("base", [text.partition("\n")[2] or text])


def test_daemon_is_sent_what_was_judged_an_instruction_a_line() -> None:
    sent = read_recipe(HARMLESS.replace("\n", "\r\n"), is_reference).text
    assert sent == read_recipe(HARMLESS, is_reference).text
    assert sent.splitlines() == [
        "ARG VERSION=12",
        "FROM debian:12 AS base",
        "RUN apt-get update  && apt-get install -y     git",
        "ADD --chown=1000:1000 files/a.tar.gz /x",
        "COPY --from=0 /etc/passwd /etc/other",
        "FROM base",
        "COPY --from=0 --chmod=755 /a /b",
        "COPY --from=registry.example/tools:1 /bin/tool /bin/",
        'ADD ["a.file", "/b"]',
        f"FROM --platform=linux/amd64 alpine@sha256:{'0' * 64} as last",
        "FROM scratch",
        "ONBUILD RUN echo later",
        'CMD ["sh"]',
    ]


_PIECES = ["FROM a", "RUN x", "ADD y /y", "COPY --from=0 a b", " ", "\t", "\\", "\n", "\r\n", "#"]


@given(st.lists(st.sampled_from(_PIECES), max_size=30).map("".join))
def test_what_is_sent_says_the_same_when_it_is_read_again(text: str) -> None:
    try:
        once = read_recipe(text, is_reference)
    except Invalid:
        return
    assert read_recipe(once.text, is_reference) == once


def test_triggers_of_a_base_are_judged_as_the_recipe_is() -> None:
    check_triggers("base", ["RUN make", "COPY . /app"])
    for trigger in (
        "ADD http://169.254.169.254/ /x",
        "RUN --mount=type=secret id",
        "COPY --from=b a b",
    ):
        with pytest.raises(Invalid, match="asks whoever builds on it"):
            check_triggers("base", [trigger])


def test_bases_are_allowed_by_pattern() -> None:
    assert may_be_base("debian:12", None)
    assert may_be_base("debian:12", ("debian:*",))
    assert not may_be_base("debian:12", ("alpine", "example.com/debian:*"))
    assert not may_be_base("debian:12", ())


def test_ignored_paths_follow_docker_s_rules() -> None:
    ignored = read_ignored(
        "# comment\n*.log\n/build/\n**/cache\n!keep.log\nsecret?.txt\n"
        "doc[s]/[^a]*\na**z\nback\\*slash\n"
    )
    out = "x.log build build/y a/b/cache cache/z secret1.txt docs/b a/b/z back*slash"
    kept = "keep.log y/x.log secret10.txt docs/a builds backxslash"
    assert [path for path in out.split() if not ignored(path)] == []
    assert [path for path in kept.split() if ignored(path)] == []
    with pytest.raises(Invalid, match="pattern"):
        read_ignored("[z-a]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "recipe"
    (place / "sub").mkdir(parents=True)
    (place / "Dockerfile").write_text("FROM a\n")
    (place / "sub" / "tool").write_text("x")
    (place / "sub" / "tool").chmod(0o700)
    (place / "link").symlink_to("sub/../sub/tool")
    return place


def packed(folder: Path, max_bytes: int = MIB) -> tuple[str, dict[str, tarfile.TarInfo]]:
    into = io.BytesIO()
    recipe = recipe_of(folder)
    digest = pack(folder, into, recipe=recipe, max_bytes=max_bytes)
    into.seek(0)
    with tarfile.open(fileobj=into) as tar:
        packed = tar.extractfile("Dockerfile")
        assert packed is not None and packed.read().decode() == recipe
        return digest, {entry.name: entry for entry in tar}


def test_folder_is_packed_the_same_whenever_its_content_is(folder: Path) -> None:
    digest, entries = packed(folder)
    assert set(entries) == {"Dockerfile", "sub", "sub/tool", "link"}
    assert (entries["sub/tool"].mode, entries["Dockerfile"].mode) == (0o755, 0o644)
    assert {(e.uid, e.gid, e.mtime, e.uname) for e in entries.values()} == {(0, 0, 0, "")}
    os.utime(folder / "Dockerfile", (1, 1))
    assert packed(folder)[0] == digest
    (folder / "sub" / "tool").write_text("y")
    assert packed(folder)[0] != digest


def test_folder_leaves_out_what_is_ignored_yet_never_the_recipe(folder: Path) -> None:
    (folder / ".dockerignore").write_text("*\n!sub/kept\n")
    (folder / "sub" / "kept").write_text("")
    assert set(packed(folder)[1]) == {"Dockerfile", "sub/kept"}


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "sub/../../x", ".."])
def test_link_out_of_the_folder_is_refused(folder: Path, target: str) -> None:
    (folder / "out").symlink_to(target)
    with pytest.raises(Invalid, match="leads out"):
        packed(folder)


def test_folder_with_what_is_no_file_is_refused(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(Invalid, match="neither a file"):
        packed(folder)
    (folder / "pipe").unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "s"))
        with pytest.raises(Invalid, match="neither a file"):
            packed(folder)


def test_folder_without_a_recipe_of_its_own_is_refused(folder: Path) -> None:
    (folder / "Dockerfile").unlink()
    with pytest.raises(Invalid, match="no file Dockerfile"):
        packed(folder)
    (folder / "Dockerfile").symlink_to("sub/tool")
    with pytest.raises(Invalid, match="no file Dockerfile"):
        packed(folder)


def test_folder_larger_than_allowed_is_refused(folder: Path) -> None:
    (folder / "large").write_bytes(bytes(2 * MIB))
    with pytest.raises(LimitReached, match="more than 1 MiB"):
        packed(folder)


def test_settings_of_builds_are_read_and_judged(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[builds]\nnetwork = true\nbases = ["debian:*"]\nseconds = 60\n')
    said = read_settings(tmp_path, {}, {}).docker.builds
    assert said == BuildRules(network=True, bases=("debian:*",), seconds=60)
    for wrong in ("seconds = 0", "secrets = 1", 'network = "yes"'):
        config.write_text(f"[builds]\n{wrong}\n")
        with pytest.raises(Invalid):
            read_settings(tmp_path, {}, {})
