from collections.abc import Iterable

import pytest

from atoll.domain.errors import Forbidden
from atoll.domain.files.host_mount import HostMount, read_host_mounts
from atoll.domain.files.private_folder import (
    CODE,
    MAX_LOOKED_AT,
    MAX_TOLD,
    Listing,
    private_inside,
    private_path,
    refuse_private,
)


def tree(*paths: str) -> Listing:
    """Folders end with a slash; those above a path are there, too."""

    def listing(below: str) -> Iterable[tuple[str, bool]]:
        top = f"{below}/" if below else ""
        names: dict[str, bool] = {}
        for path in paths:
            if path.startswith(top) and path != top:
                name, slash, _rest = path.removeprefix(top).partition("/")
                names[name] = bool(slash)
        return names.items()

    return listing


@pytest.mark.parametrize(
    "path",
    ["/home/me", "/home", "/Users/me", "/home/me/.ssh", "/data/x/.aws", "/home/me/.config/gcloud",
     "/home/me/.mozilla/firefox/x.default", "/srv/.docker", "/home/me/.kube/cache"],
)  # fmt: skip
def test_folder_is_private_by_its_own_name(path: str) -> None:
    assert private_path(path)
    with pytest.raises(Forbidden) as refused:
        read_host_mounts([HostMount(path, "/data", grant="0" * 32)], [])
    assert (refused.value.code, refused.value.field) == (CODE, "mounts[0].source")
    agreed = HostMount(path, "/data", grant="0" * 32, private=True)
    assert read_host_mounts([agreed], []) == (agreed,)


@pytest.mark.parametrize("path", ["/data", "/home/me/work", "/srv/ssh", "/data/.sshd", "/homes/me"])
def test_folder_of_data_is_not_private_by_name(path: str) -> None:
    assert not private_path(path)


@pytest.mark.parametrize(
    "name",
    ["id_rsa", "id_ed25519", "id_work", "credentials", ".netrc", "x/.git-credentials", "vault.kdbx",
     ".ssh/", "me/.gnupg/", "me/.config/gcloud/", ".docker/config.json", "profile/logins.json",
     ".claude/.credentials.json", ".bash_history", "a/b/id_ecdsa"],
)  # fmt: skip
def test_folder_is_private_by_what_is_in_it(name: str) -> None:
    assert private_inside("/data/x", tree("a.txt", "src/main.py", name)) == (name.rstrip("/"),)


@pytest.mark.parametrize(
    "name",
    ["id_rsa.pub", "id_map.py", "id_map/", "credentials.yml", "src/auth.py", ".npmrc", ".env",
     ".docker/Dockerfile", ".claude/settings.json", "node_modules/x/.netrc", "a/b/c/id_rsa"],
)  # fmt: skip
def test_folder_of_a_project_is_not_private(name: str) -> None:
    assert private_inside("/data/x", tree("a.txt", name)) == ()


def test_folder_above_known_ones_is_private_by_its_whole_path() -> None:
    assert private_inside("/home/me/.config", tree("gcloud/x", "gh/hosts.yml")) == ("gcloud", "gh")


def test_what_is_told_and_looked_at_is_bounded() -> None:
    keys = tree(*(f"id_{number}" for number in range(9)))
    assert len(private_inside("/data/x", keys)) == MAX_TOLD
    many = tree(*(f"f{number}" for number in range(MAX_LOOKED_AT)), "id_rsa")
    assert private_inside("/data/x", many) == ()


def test_error_names_what_was_found_and_how_to_agree() -> None:
    error = refuse_private("/data/x", ("id_rsa", ".netrc"))
    assert error.code == "private_folder"
    assert "/data/x holds id_rsa, .netrc" in error.message
    assert "--mount-private" in error.message and "`private`" in error.message
