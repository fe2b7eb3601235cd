"""What a public installation needs, as `atoll doctor --public` looks at it."""

import re
from pathlib import Path

import pytest

from atoll.wiring.doctor.public import findings
from atoll.zygote.host.own_settings import OwnSettings
from tests.peers.containers.compose import services
from tests.places import ROOT

GOOD = """
public_url = "https://atoll.example.org"
trusted_proxies = ["10.0.0.5"]
require_isolation = "container"
requests_per_minute = 600
metrics = "token"
master_key_command = ["/bin/keys"]
[network_bounds]
egress = ["preset:pypi"]
[auth]
mode = "oidc"
[[auth.realms]]
realm = "trial"
name = "trial"
issuer = "https://login.example.org"
client_id = "atoll"
client_secret_env = "OIDC_SECRET"
"""


def _levels(home: Path, text: str, proc: Path | None = None) -> dict[str, str]:
    (home / "config.toml").write_text(text)
    found = findings(home, {}, proc=proc or home / "proc", groups=home / "groups")
    machine = ("python", "time stamps")
    return {one.name: one.level for one in found if not one.name.startswith(machine)}


def _running(home: Path, cgroup: str) -> Path:
    process = home / "proc" / "7"
    process.mkdir(parents=True)
    (process / "cmdline").write_bytes(f"atoll control {home}".encode() + b"\0")
    (process / "cgroup").write_text(cgroup)
    return process.parent


def test_nothing_said_is_not_what_a_public_installation_needs(tmp_path: Path) -> None:
    levels = _levels(tmp_path, "")
    missing = {name for name, level in levels.items() if level == "fail"}
    assert missing == {"encryption", "require_isolation", "auth", "trusted_proxies"}
    assert {levels[name] for name in ("network bounds", "master key", "memory group")} == {"warn"}


def test_all_that_is_needed_is_ok(tmp_path: Path) -> None:
    proc = _running(tmp_path, "0::/atoll.service\n")
    group = tmp_path / "groups" / "atoll.service"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("1073741824\n")
    assert set(_levels(tmp_path, GOOD, proc).values()) == {"ok"}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("full = true", "network bounds"),
        ("host_ports = [5432]", "network bounds"),
        ('ranges = ["10.0.0.0/8"]', "network bounds"),
    ],
)
def test_bound_that_opens_this_machine_fails(tmp_path: Path, line: str, name: str) -> None:
    text = GOOD.replace("[network_bounds]", f"[network_bounds]\n{line}")
    assert _levels(tmp_path, text)[name] == "fail"


@pytest.mark.parametrize(
    ("before", "after", "name", "level"),
    [
        ('"https://atoll', '"http://atoll', "encryption", "fail"),
        ('"container"', '"policy"', "require_isolation", "fail"),
        ('"token"', '"on"', "metrics", "fail"),
        ('egress = ["preset:pypi"]', "", "egress", "warn"),
        ("requests_per_minute = 600", "", "request rate", "warn"),
        ("requests", 'mount_roots = ["/srv"]\nrequests', "mount_roots", "warn"),
        ("requests", "allow_loopback_remotes = true\nrequests", "allow_loopback_remotes", "fail"),
        ("requests", "no_such_setting = 1\nrequests", "settings", "fail"),
    ],
)
def test_each_setting_is_looked_at(
    tmp_path: Path, before: str, after: str, name: str, level: str
) -> None:
    assert _levels(tmp_path, GOOD.replace(before, after, 1))[name] == level


@pytest.mark.parametrize(
    ("cgroup", "file", "text", "level"),
    [
        ("0::/a/b\n", "a/memory.max", "1024\n", "ok"),
        ("0::/a/b\n", "a/memory.max", "max\n", "fail"),
        ("4:memory:/a\n0::/\n", "memory/a/memory.limit_in_bytes", "1024\n", "ok"),
        ("4:memory:/a\n", "memory/memory.limit_in_bytes", "9223372036854771712\n", "fail"),
    ],
)
def test_memory_of_the_control_plane_is_bounded_or_not(
    tmp_path: Path, cgroup: str, file: str, text: str, level: str
) -> None:
    proc = _running(tmp_path, cgroup)
    limit = tmp_path / "groups" / file
    limit.parent.mkdir(parents=True)
    limit.write_text(text)
    assert _levels(tmp_path, GOOD, proc)["memory group"] == level


def test_guide_says_what_passes(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "run" / "production.md").read_text()
    block = re.search(r"## A public installation\n\n```toml\n(.*?)```", guide, re.DOTALL)
    assert block is not None
    realm = GOOD[GOOD.index("[[auth") :]
    levels = _levels(tmp_path, block[1] + realm)
    assert "fail" not in levels.values()


def _megabytes(text: str) -> int:
    found = re.fullmatch(r"(\d+)([mMgG])", text)
    assert found is not None, text
    return int(found[1]) * (1024 if found[2] in "gG" else 1)


def test_control_planes_of_the_shipped_stack_pass_with_a_login_provider(tmp_path: Path) -> None:
    for name in ("atoll", "atoll-two"):
        service = services()[name]
        home = tmp_path / name
        home.mkdir()
        proc = _running(home, "0::/\n")
        (home / "groups").mkdir()
        limit = _megabytes(service["mem_limit"])
        (home / "groups" / "memory.max").write_text(f"{limit * 1024 * 1024}\n")
        assert limit > OwnSettings().control_memory_mb
        environ = {
            name: value.replace("${ATOLL_DOMAIN:?run deploy/prepare first}", "atoll.example.org")
            for name, value in service["environment"].items()
            if not name.endswith("_FILE")
        }
        (home / "config.toml").write_text(GOOD[GOOD.index("[auth]") :])
        found = findings(home, environ, proc=proc, groups=home / "groups")
        assert [one for one in found if one.level == "fail" and "python" not in one.name] == []


def test_unit_bounds_the_memory_of_what_it_starts() -> None:
    unit = (ROOT / "deploy" / "atoll.service").read_text()
    found = re.search(r"^MemoryMax=(\w+)$", unit, re.MULTILINE)
    assert found is not None and _megabytes(found[1]) > OwnSettings().control_memory_mb
