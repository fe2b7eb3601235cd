import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import AtollError, Forbidden, Invalid
from atoll.domain.files.host_mount import NEVER, TARGETS, HostMount, below_any, read_host_mounts

GRANT = "0123456789abcdef" * 2


def test_mount_below_an_allowed_folder_or_granted_is_taken() -> None:
    below = HostMount("/srv/data/x", "/data")
    granted = HostMount("/home/me/x", "/mnt/x", True, GRANT)
    assert read_host_mounts([below, granted], ["/srv/data"]) == (below, granted)
    assert str(granted) == "/home/me/x:/mnt/x:rw"


@pytest.mark.parametrize("source", ["/srv/dataset", "/srv", "/home/me"])
def test_mount_beside_the_allowed_folders_is_forbidden(source: str) -> None:
    with pytest.raises(Forbidden, match="mount_roots"):
        read_host_mounts([HostMount(source, "/data")], ["/srv/data"])


@pytest.mark.parametrize("source", ["/", "/var", *NEVER, *(f"{one}/x" for one in NEVER)])
def test_mount_of_the_system_is_forbidden_whatever_allows_it(source: str) -> None:
    with pytest.raises(Forbidden):
        read_host_mounts([HostMount(source, "/data", grant=GRANT)], ["/"])


def test_mounts_at_one_place_or_too_many_are_refused() -> None:
    one = HostMount("/a", "/data", grant=GRANT)
    with pytest.raises(Invalid):
        read_host_mounts([one, one], [])
    with pytest.raises(Invalid):
        read_host_mounts([HostMount("/a", f"/mnt/{n}", grant=GRANT) for n in range(17)], [])


@pytest.mark.parametrize("target", ["/", "/workspace", "/mntx", "/usr/lib", "/home/agent"])
def test_mount_over_anything_of_the_sandbox_is_refused(target: str) -> None:
    with pytest.raises(Invalid, match="/mnt, /srv, /data"):
        read_host_mounts([HostMount("/home/me/x", target, grant=GRANT)], [])


def test_grant_that_is_none_is_refused() -> None:
    for grant in ("../../token", "0" * 31, "A" * 32):
        with pytest.raises(Invalid):
            read_host_mounts([HostMount("/home/me/x", "/data", grant=grant)], [])


@given(st.text("/.a:\0\n é", max_size=12), st.text("/.mntdarsv:\0 ", max_size=12))
def test_mount_of_any_words_stays_in_its_places(source: str, target: str) -> None:
    try:
        read_host_mounts([HostMount(source, target, grant=GRANT)], [])
    except AtollError:
        return
    assert below_any(target, TARGETS)
    assert ".." not in (source + target).split("/")
    assert not below_any(source, NEVER)


@pytest.mark.parametrize("source", ["data", "//data", "/data/", "/a/../b", "/a:b", "/a\nb"])
def test_mount_of_a_path_that_is_not_plain_is_refused(source: str) -> None:
    with pytest.raises(Invalid, match="plain absolute path"):
        read_host_mounts((HostMount(source, "/mnt/data"),), ("/data",))
