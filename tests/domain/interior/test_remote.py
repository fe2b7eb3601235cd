"""The wall on a foreign machine: what bubblewrap is told, in which order."""

from dataclasses import replace

from atoll.domain.interior.etc import AGENT_FILES, OWN
from atoll.domain.interior.remote import (
    INIT,
    RemoteMachine,
    RemoteWall,
    etc_files,
    remote_wall_argv,
)

MACHINE = RemoteMachine(
    root_links=(("bin", "usr/bin"),),
    root_folders=("lib64",),
    masked_folders=("/proc/acpi",),
    masked_files=("/proc/keys",),
)
WALL = RemoteWall(
    files="/home/u/box",
    programs="/home/u/bin",
    hostname="heron",
    views=(("/home/u/sent/a", "/opt/atoll/agents/codex"),),
    states=(("codex", ".codex"),),
    open_files=100,
)


def has(argv: tuple[str, ...], *words: str) -> bool:
    return any(argv[at : at + len(words)] == words for at in range(len(argv)))


def test_wall_shares_nothing_and_ends_with_init() -> None:
    argv = remote_wall_argv(MACHINE, WALL)
    assert argv[0] == "/home/u/bin/bwrap"
    for words in (
        ("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"),
        ("--seccomp", "9"),
        ("--symlink", "usr/bin", "/bin"),
        ("--ro-bind", "/lib64", "/lib64"),
        ("--tmpfs", "/proc/acpi", "--remount-ro", "/proc/acpi"),
        ("--ro-bind", "/dev/null", "/proc/keys"),
        ("--bind", "/home/u/box/workspace", "/workspace"),
        ("--bind", "/home/u/box/state/codex", "/home/agent/.codex"),
        ("--ro-bind", "/home/u/sent/a", "/opt/atoll/agents/codex"),
        ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--", INIT),
        ("--door", "8082", "--door", "3128"),
        ("--files", "100"),
    ):
        assert has(argv, *words), words
    assert "--share-net" not in argv
    assert "--nproc" not in argv


def test_policy_of_agents_is_read_only_below_etc() -> None:
    argv = remote_wall_argv(MACHINE, WALL)
    for name in AGENT_FILES:
        assert has(argv, "--ro-bind", f"/home/u/box/etc/{name}", f"/etc/{name}")
        assert etc_files("sb_a", "heron")[name] == OWN[name]


def test_workspace_is_read_only_or_hidden_as_the_profile_says() -> None:
    argv = remote_wall_argv(MACHINE, replace(WALL, writable=False, nproc=9, open_files=None))
    assert has(argv, "--ro-bind", "/home/u/box/workspace", "/workspace")
    assert has(argv, "--nproc", "9")
    assert "--files" not in argv
    bare = remote_wall_argv(MACHINE, replace(WALL, bare=True))
    assert "/home/u/box/workspace" not in bare
    assert has(bare, "--tmpfs", "/workspace")


def test_etc_names_the_sandbox() -> None:
    files = etc_files("sb_a", "heron")
    assert set(files) == set(OWN)
    assert files["hostname"] == "heron\n"
    assert "::1 localhost ip6-localhost ip6-loopback heron\n" in files["hosts"]
    assert files["machine-id"] == etc_files("sb_a", "other")["machine-id"]
    assert files["machine-id"] != etc_files("sb_b", "heron")["machine-id"]
