"""`atoll ssh`: what OpenSSH is given, what it makes of it, and what of a person's own stays."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from atoll.domain.errors import Invalid
from atoll.surfaces.cli.ssh.client_files import ClientFiles, include, sandbox_name
from tests.surfaces.cli.commands.people.test_token import answers
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

GATEWAY = {
    "address": None,
    "alias": "atoll",
    "host_key": "ssh-ed25519 HOST",
    "host_fingerprint": "SHA256:a",
    "host_authority": "ssh-ed25519 AUTHORITY",
    "user_authority": "ssh-ed25519 USERS",
}
CERTIFIED = {
    "certificate": "ssh-ed25519-cert-v01@openssh.com CERT",
    "sandbox_id": "sb_1",
    "role": "owner",
    "serial": "7",
    "fingerprint": "SHA256:a",
    "expires_at": "2036-01-01T00:00:00Z",
}
CERTIFY = "POST /v1/sandboxes/box/ssh/certificates"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]) -> Path:
    """A home of a person, whose Atoll lies below it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    environ["ATOLL_HOME"] = str(tmp_path / "state of atoll")
    return tmp_path


@pytest.fixture
def gateway(server: Scripted) -> Scripted:
    answers(server, "GET /v1/ssh", GATEWAY)
    answers(server, CERTIFY, CERTIFIED, 201)
    return server


def options(config: Path, host: str) -> dict[str, str]:
    """What OpenSSH makes of a configuration."""
    command = ["ssh", "-G", "-F", str(config), host]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(line.split(" ", 1) for line in ran.stdout.splitlines() if " " in line)


def test_config_is_one_that_openssh_takes(cli: Cli, gateway: Scripted, home: Path) -> None:
    ran = cli("ssh", "config")
    assert ran.code == 0, ran.err
    files = ClientFiles(home / "state of atoll")
    found = options(files.hosts, "box.atoll")
    assert found["proxycommand"].endswith("--proxy 'box.atoll'") or "'%n'" in found["proxycommand"]
    assert found["hostkeyalias"] == "atoll" and found["stricthostkeychecking"] == "true"
    assert found["ciphers"].startswith("aes128-gcm@openssh.com,aes256-gcm@openssh.com,")
    assert found["userknownhostsfile"].strip('"') == str(files.folder / "known_hosts")
    assert (found["forwardagent"], found["identitiesonly"]) == ("no", "yes")
    known = (files.folder / "known_hosts").read_text()
    assert known == "@cert-authority atoll ssh-ed25519 AUTHORITY\n"
    assert "hostkeyalias" not in options(files.hosts, "elsewhere.example")
    for path in (files.config, files.key, files.hosts):
        assert path.stat().st_mode & 0o077 == 0
    assert (home / ".ssh/config").read_text() == f'Include "{files.config}"\n'


def test_own_configuration_keeps_every_byte_and_gets_one_line(
    cli: Cli, gateway: Scripted, home: Path
) -> None:
    own, real = home / ".ssh/config", home / "dotfiles"
    own.parent.mkdir()
    text = b"# caf\xe9\nHost mine\n  User ada\n"
    real.write_bytes(text)
    real.chmod(0o644)
    own.symlink_to(real)
    for _ in range(3):
        assert cli("ssh", "config").code == 0
    assert own.is_symlink() and real.stat().st_mode & 0o777 == 0o644
    assert real.read_bytes().endswith(b"\n\n" + text)
    assert real.read_bytes().count(b"Include") == 1
    assert options(own, "mine")["user"] == "ada"
    assert options(own, "box.atoll")["hostkeyalias"] == "atoll"


def test_line_within_a_host_is_none(tmp_path: Path) -> None:
    config, own = tmp_path / "config", tmp_path / "own"
    config.write_text(f'Host a\n  Include "{own}"\n')
    assert include(config, own) and not include(config, own)
    assert config.read_text().startswith(f'Include "{own}"\n\nHost a\n')


def test_print_writes_nothing(cli: Cli, gateway: Scripted, home: Path) -> None:
    ran = cli("ssh", "config", "--print")
    assert ran.code == 0 and "Host *.atoll" in ran.out and "--renew '%n'" in ran.out
    assert not (home / ".ssh").exists() and not (home / "state of atoll/ssh").exists()


def test_name_of_an_attacker_reaches_no_shell(cli: Cli, gateway: Scripted, home: Path) -> None:
    cli("ssh", "config")
    files, mark = ClientFiles(home / "state of atoll"), home / "mark"
    for name in (f"'$(touch {mark})'.atoll", f"a';touch {mark};'.atoll", f"$(touch\t{mark}).atoll"):
        command = ["ssh", "-F", str(files.config), "-o", "BatchMode=yes", "--", name, "true"]
        subprocess.run(command, capture_output=True, timeout=60, env={**os.environ, "LC_ALL": "C"})
    assert not mark.exists()


@pytest.mark.parametrize("name", ["", "../x", "a/b", "-oProxyCommand=x", "a b", "a'b", "a\n", "."])
def test_what_is_no_name_makes_no_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid):
        ClientFiles(tmp_path).certificate(name)
    assert sandbox_name("box.atoll") == sandbox_name("box") == "box"


def test_home_that_openssh_cannot_name_is_refused(tmp_path: Path) -> None:
    for name in ('a"b', "a%b"):
        with pytest.raises(Invalid):
            ClientFiles(tmp_path / name).text("atoll")


def test_renewal_writes_the_certificate_of_a_key_of_this_machine(
    cli: Cli, gateway: Scripted, home: Path
) -> None:
    assert cli("ssh", "--renew", "box.atoll").code == 0
    files = ClientFiles(home / "state of atoll")
    assert files.certificate("box").read_text() == CERTIFIED["certificate"] + "\n"
    (sent,) = gateway.requests("POST", "/v1/sandboxes/box/ssh/certificates")
    assert sent.json == {"public_key": files.public_key()}
    assert files.public_key().startswith("ssh-ed25519 ")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["box"], ["box.atoll"]),
        (["box.atoll", "ls", "-l"], ["box.atoll", "ls", "-l"]),
        (["-tt", "box", "--", "top"], ["-tt", "box.atoll", "--", "top"]),
        (["-L", "1:h:2", "-NL3:h:4", "box"], ["-L", "1:h:2", "-NL3:h:4", "box.atoll"]),
        (["-vp", "22", "box", "-x"], ["-vp", "22", "box.atoll", "-x"]),
        (["--", "key"], ["--", "key.atoll"]),
        (["login", "-t", "box"], ["-t", "box.atoll"]),
    ],
)
def test_login_is_openssh_with_its_own_words(
    cli: Cli,
    gateway: Scripted,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    expected: list[str],
) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _path, argv: ran.append(argv))
    answers(gateway, "POST /v1/sandboxes/key/ssh/certificates", CERTIFIED, 201)
    done = cli("ssh", *words)
    assert done.code == 0, done.err
    name = "key" if "key" in words else "box"
    files = ClientFiles(home / "state of atoll")
    assert ran == [[ran[0][0], "-F", str(files.hosts), "-l", name, *expected]]
    assert files.certificate(name).exists()


def test_login_without_a_name_is_a_usage_error(cli: Cli, gateway: Scripted, home: Path) -> None:
    for words in (["-t"], ["-L", "1:h:2"], ["--"], ["-p"]):
        assert "name a sandbox" in cli("ssh", *words).err


def test_cert_prints_the_certificate_alone(cli: Cli, gateway: Scripted, home: Path) -> None:
    (home / "id.pub").write_text("ssh-ed25519 AAAA\n")
    ran = cli("ssh", "cert", "box", str(home / "id.pub"), "--ttl", "30m")
    assert (ran.code, ran.out) == (0, CERTIFIED["certificate"] + "\n")
    assert "owner of box until" in ran.err
    (sent,) = gateway.requests("POST", "/v1/sandboxes/box/ssh/certificates")
    assert sent.json["public_key"] == "ssh-ed25519 AAAA\n" and sent.json["ttl"] in ("30m", 1800)
    shown = json.loads(cli("ssh", "cert", "box", str(home / "id.pub"), "--json").out)
    assert shown == CERTIFIED
