"""The file with a control plane and its token: what it says, and what is refused."""

from pathlib import Path

import pytest

from atoll.client.bridge.env_file import with_env_file
from atoll.client.server import find_server
from atoll.domain.errors import AtollError, Forbidden, Invalid, NotFound, Unauthenticated

URL = "ATOLL_URL=https://atoll.example\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "env"
    made.touch(mode=0o600)
    return made


@pytest.mark.parametrize(
    "text",
    [
        URL + "ATOLL_TOKEN=secret",
        "# ours\n\nexport ATOLL_URL = 'https://atoll.example'\nATOLL_TOKEN=\"secret\"\nOTHER=1\n",
        (URL + "ATOLL_TOKEN=secret\n").replace("\n", "\r\n"),
    ],
)
def test_file_names_the_server_and_its_token(path: Path, tmp_path: Path, text: str) -> None:
    path.write_text(text)
    environ = with_env_file({"ATOLL_HOME": str(tmp_path), "OTHER": "2"}, path)
    server = find_server(environ)
    assert (server.url, server.token, server.by_home) == ("https://atoll.example", "secret", False)
    assert environ["OTHER"] == "2"


def test_token_of_the_environment_never_reaches_the_server_of_the_file(
    path: Path, tmp_path: Path
) -> None:
    path.write_text(URL)
    environ = {"ATOLL_HOME": str(tmp_path), "ATOLL_TOKEN": "mine", "ATOLL_INSECURE_HTTP": "1"}
    found = with_env_file(environ, path)
    assert found == {"ATOLL_HOME": str(tmp_path), "ATOLL_URL": "https://atoll.example"}
    with pytest.raises(Unauthenticated):
        find_server(found)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", Invalid),
        ("OTHER=1\n", Invalid),
        ("ATOLL_TOKEN=\n", Invalid),
        ("secret\n", Invalid),
        ("\0" * 10, Invalid),
        ("x" * 70_000, Invalid),
        ("é".encode("latin-1").decode("utf-8", "surrogateescape"), Invalid),
    ],
)
def test_file_that_says_nothing_useful_is_refused_without_its_content(
    path: Path, text: str, error: type[AtollError]
) -> None:
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(error) as refused:
        with_env_file({}, path)
    assert "secret" not in refused.value.message


def test_token_that_others_can_read_is_refused(path: Path) -> None:
    path.write_text(URL + "ATOLL_TOKEN=secret\n")
    path.chmod(0o640)
    with pytest.raises(Forbidden, match="chmod 600"):
        with_env_file({}, path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        with_env_file({}, tmp_path / "absent")
    for place in (tmp_path, Path("/dev/zero")):
        with pytest.raises(Invalid):
            with_env_file({}, place)


def test_token_of_a_home_that_nobody_named_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "control.json").write_text('{"url": "http://127.0.0.1:9", "pid": 1}')
    (tmp_path / "token").touch(mode=0o600)
    (tmp_path / "token").write_text("of-the-home")
    home = {"ATOLL_HOME": str(tmp_path)}
    assert find_server(home).by_home
    assert not find_server({**home, "ATOLL_TOKEN": "of-the-home"}).by_home
