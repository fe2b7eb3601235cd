import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Invalid
from atoll.domain.repository.repository import (
    LocalSource,
    is_local_key,
    is_path,
    plain_name,
    read_commit,
    read_local,
    read_remote,
)

HOSTILE = [
    "",
    "ext::sh -c touch%20/tmp/pwned",
    "ext::sh",
    "file:///etc",
    "file://localhost/etc/r.git",
    "/srv/orgA/repo.git",
    "../other",
    "--upload-pack=touch /tmp/pwned",
    "--upload-pack=x/y",
    "-oProxyCommand=x/y",
    "git://github.com/o/r",
    "gopher://github.com/o/r",
    "http://github.com/o/r",
    "http://127.0.0.1/o/r",
    "https://user:secret@github.com/o/r",
    "https://token@github.com/o/r",
    "ssh://git:secret@github.com/o/r",
    "https://github.com/o/../r",
    "https://github.com/o/%2e%2e/r",
    "https://github.com/o/r?x=1",
    "https://github.com/o/r?",
    "https://github.com/o/r#x",
    "https://github.com/o//r",
    "https://github.com/",
    "https://github.com/o/r.git/hooks/x",
    "https://github.com/o/-r",
    "https://github.com:99999/o/r",
    "https://github.com:x/o/r",
    "https://[::1/o/r",
    "https://[::1]/o/r",
    "https://local/o/r",
    "https://-x.com/o/r",
    "https://exa mple.com/o/r",
    "https://example.com/o/r\nx",
    "https://example.com/o/r\x00",
    "https://exämple.com/o/r",
    "https://①②⑦.0.0.1/o/r",
    "git@local:o/r",
    "justaword",
    "https://example.com/" + "a/" * 20 + "b",
    "https://example.com/" + "a" * 600,
]


@pytest.mark.parametrize("text", HOSTILE)
def test_remote_hostile_address_refused_with_its_field(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_remote(text)
    assert caught.value.field == "repo_url"
    assert "\n" not in caught.value.message and "\x00" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "url", "key"),
    [
        ("owner/repo", "https://github.com/owner/repo", "github.com/owner/repo"),
        ("Owner/Repo.git", "https://github.com/Owner/Repo", "github.com/owner/repo"),
        ("owner/.github", "https://github.com/owner/.github", "github.com/owner/.github"),
        ("https://GitHub.com/o/r/", "https://github.com/o/r", "github.com/o/r"),
        ("https://github.com:443/o/r", "https://github.com/o/r", "github.com/o/r"),
        ("git@github.com:o/r.git", "https://github.com/o/r", "github.com/o/r"),
        ("ssh://git@git.example.org:2222/a/b/r", "https://git.example.org/a/b/r", None),
        ("https://git.example.org:8443/O/r", "https://git.example.org:8443/O/r", None),
        ("https://git.sr.ht/~someone/r", "https://git.sr.ht/~someone/r", "git.sr.ht/~someone/r"),
    ],
)
def test_remote_accepted_forms_become_one_https_address(
    text: str, url: str, key: str | None
) -> None:
    remote = read_remote(text)
    assert remote.repo_url == url
    assert key is None or remote.key == key
    assert remote.folder == f"{remote.key}.git"
    assert remote.name == url.rsplit("/", 1)[-1]


def test_remote_with_a_port_has_a_folder_of_its_own() -> None:
    remote = read_remote("https://git.example.org:8443/O/r")
    assert (remote.folder, remote.port) == ("git.example.org+8443/O/r.git", 8443)


def test_remote_on_loopback_accepted_only_in_development() -> None:
    remote = read_remote("http://127.0.0.1:8080/o/r", allow_loopback=True)
    assert (remote.host, remote.port, remote.key) == ("127.0.0.1", 8080, "127.0.0.1+8080/o/r")
    assert read_remote("http://localhost/r", allow_loopback=True).port == 80
    with pytest.raises(Invalid):
        read_remote("http://192.168.1.1/o/r", allow_loopback=True)


@given(st.text(max_size=80))
def test_remote_any_text_is_refused_or_stays_below_its_folder(text: str) -> None:
    try:
        remote = read_remote(text, allow_loopback=True)
    except Invalid:
        return
    parts = remote.folder.split("/")
    assert ".." not in parts and "" not in parts and parts[0] != "local"
    assert sum(part.endswith(".git") for part in parts) == 1
    assert read_remote(remote.repo_url, allow_loopback=True).key == remote.key


def test_local_source_from_a_cli_keeps_key_name_and_origin() -> None:
    local = read_local("ab" * 10, "demo", "git@github.com:o/r.git")
    assert local == LocalSource("ab" * 10, "demo", "https://github.com/o/r")
    assert local.folder == f"local/demo-{'ab' * 10}.git"
    assert read_local("ab" * 10, "demo").repo_url == ""
    assert is_local_key("ab" * 10) and not is_local_key("github.com/o/r")


@pytest.mark.parametrize("key", ["", "AB" * 10, "../x", "ab", "g" * 20, "a" * 65])
def test_local_source_bad_key_refused(key: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_local(key, "demo")
    assert caught.value.field == "key"


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", "x.git", "x.lock", "a" * 65, "é"])
def test_local_source_bad_name_refused(name: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_local("ab" * 10, name)
    assert caught.value.field == "name"


@given(st.text(max_size=100))
def test_plain_name_of_any_folder_is_accepted(text: str) -> None:
    assert read_local("ab" * 10, plain_name(text)).name


@pytest.mark.parametrize(
    ("text", "is_one"),
    [(".", True), ("./x", True), ("~/x", True), ("/x", True), ("owner/repo", False)],
)
def test_path_and_remote_are_told_apart(text: str, is_one: bool) -> None:
    assert is_path(text) is is_one


def test_commit_id_must_be_whole() -> None:
    assert read_commit("a" * 40) == "a" * 40
    for bad in ("HEAD", "a" * 39, "A" * 40, "--all", "a" * 40 + "\n"):
        with pytest.raises(Invalid):
            read_commit(bad)


def test_plain_name_loses_what_git_gives_a_meaning() -> None:
    assert plain_name("my repo.git") == "my-repo"
    assert plain_name("...") == "repository"
