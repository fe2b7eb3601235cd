"""A colleague who comes through what stands in front of Atoll: Caddy, and a port that ssh carries.

The recipes of `docs/run/outside.md`, with the real programs where they are installed.
"""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser

from atoll.testing.server import TestServer, test_server
from tests.claims import free_port
from tests.e2e.page.other_network import OtherNetwork, other_network
from tests.e2e.page.test_people import guest, role
from tests.e2e.page.test_real_page import Terminal
from tests.peers.api import Api, api_of
from tests.peers.browsers import chromium, needs_chromium, program
from tests.peers.certificate import own_certificate
from tests.surfaces.cli.commands.terminals.test_attach import person_tty

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(200),
    needs_chromium,
    pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace of its own needs root"),
]
NAME = "atoll.example.test"
SSHD = "/usr/sbin/sshd"
SECONDS = 20.0
_CADDYFILE = """{{
    admin off
    auto_https off
}}
https://{name}:{port} {{
    tls {certificate} {key}
    reverse_proxy 127.0.0.1:{behind}
}}
"""
_SSHD = """Port 2222
ListenAddress {address}
HostKey {folder}/host
AuthorizedKeysFile {folder}/key.pub
StrictModes no
UsePAM no
PermitRootLogin yes
PidFile none
"""


@pytest.fixture
def elsewhere() -> Iterator[OtherNetwork]:
    with other_network() as made:
        yield made


@pytest.mark.skipif(shutil.which("caddy") is None, reason="no Caddy: install the package `caddy`")
async def test_colleague_comes_through_caddy(elsewhere: OtherNetwork, tmp_path: Path) -> None:
    certificate, key = own_certificate(tmp_path, elsewhere.address, names=(NAME,))
    port = free_port()
    with test_server({"ATOLL_PUBLIC_URL": f"https://{NAME}:{port}"}) as server:
        behind = server.url.rpartition(":")[2]
        config = tmp_path / "Caddyfile"
        words = {"certificate": certificate, "key": key, "behind": behind}
        config.write_text(_CADDYFILE.format(name=NAME, port=port, **words))
        hosts = tmp_path / "hosts"
        hosts.write_text(f"127.0.0.1 localhost\n{elsewhere.address} {NAME}\n")
        named = f'mount --bind {hosts} /etc/hosts; exec "$@"'
        enter = (*elsewhere.enter, "unshare", "--mount", "sh", "-ec", named, "-")
        environ = {"SSL_CERT_FILE": str(certificate)}
        argv = ("caddy", "run", "--adapter", "caddyfile", "--config", str(config))
        with api_of(server) as api, _running(argv, {"HOME": str(tmp_path)}, ("127.0.0.1", port)):
            link = _link(server, api, f"https://{NAME}:{port}/#share=")
            flags = [f"--host-resolver-rules=MAP {NAME} {elsewhere.address}"]
            flags.append("--ignore-certificate-errors")
            async with _browser(elsewhere, tmp_path, flags) as browser:
                await _by_browser(browser, link, api)
            await asyncio.to_thread(_by_command_line, link, enter, environ, tmp_path)


@pytest.mark.skipif(not Path(SSHD).exists(), reason="no sshd: install `openssh-server`")
async def test_colleague_comes_by_a_port_that_ssh_carries(
    elsewhere: OtherNetwork, tmp_path: Path
) -> None:
    """The other machine has the ssh server; the colleague works there."""
    Path("/run/sshd").mkdir(exist_ok=True)
    for name in ("host", "key"):
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)]
        subprocess.run(made, check=True)
    there = elsewhere.address.removesuffix(".1") + ".2"
    config = tmp_path / "sshd_config"
    config.write_text(_SSHD.format(address=there, folder=tmp_path))
    sshd = (*elsewhere.enter, SSHD, "-D", "-e", "-f", str(config))
    with test_server() as server, api_of(server) as api, _running(sshd, {}, (there, 2222)):
        port = server.url.rpartition(":")[2]
        carried = f"127.0.0.1:{port}:127.0.0.1:{port}"
        options = ["-F", "none", "-p", "2222", "-o", "StrictHostKeyChecking=no"]
        options += ["-o", "UserKnownHostsFile=/dev/null", "-o", "ExitOnForwardFailure=yes"]
        ssh = ("ssh", "-N", "-R", carried, "-i", str(tmp_path / "key"), *options, f"root@{there}")
        with _running(ssh, {}, ("127.0.0.1", int(port)), elsewhere):
            link = _link(server, api, f"http://127.0.0.1:{port}/#share=")
            async with _browser(elsewhere, tmp_path, []) as browser:
                await _by_browser(browser, link, api)
            await asyncio.to_thread(_by_command_line, link, elsewhere.enter, {}, tmp_path)


async def _by_browser(browser: Browser, link: str, api: Api) -> None:
    terminal = api.call("GET", "/v1/sandboxes/box/terminals")["terminals"][0]["terminal_id"]
    async with guest(browser, link, "Bob") as page:
        await page.locator(".pane-bar").get_by_role("button", name="Ask for control").click()
        await role(page, "You drive")
        his = Terminal(page, terminal)
        await his.type("by bob\r")
        await his.sees("heard by bob")


def _by_command_line(
    link: str, enter: tuple[str, ...], environ: Mapping[str, str], folder: Path
) -> None:
    home = {"ATOLL_HOME": str(folder / "home"), "HOME": str(folder / "home")}
    with person_tty({**environ, **home}, "attach", link, "--as", "Eve", before=enter) as eve:
        eve.expect(b"heard by bob")
        eve.type(b"\x1d")
        # Bob is gone; alone at the terminal she drives, and the title names nobody.
        eve.expect(b"[asked Bob")
        eve.expect(b"\x1b]2;\x07")
        eve.type(b"by eve\r")
        eve.expect(b"heard by eve")
        eve.type(b"\x1c")
        assert eve.ends() == 0


def _link(server: TestServer, api: Api, begin: str) -> str:
    api.create(name="box")
    api.terminal("box", "sh", "-c", 'while read -r line; do echo "heard $line"; done')
    made = server.run("share", "box", "--role", "controller")
    assert made.stdout.startswith(begin), made
    return made.stdout.strip()


@asynccontextmanager
async def _browser(
    elsewhere: OtherNetwork, folder: Path, flags: list[str]
) -> AsyncIterator[Browser]:
    async with chromium(*flags, path=elsewhere.program(folder, program())) as browser:
        yield browser


@contextmanager
def _running(
    argv: tuple[str, ...],
    environ: Mapping[str, str],
    address: tuple[str, int],
    elsewhere: OtherNetwork | None = None,
) -> Iterator[None]:
    """Run a program that listens at an address, of this machine's network or the other one."""
    with subprocess.Popen(argv, env={**os.environ, **environ}) as program:
        try:
            _until_it_listens(program, address, elsewhere)
            yield
        finally:
            program.send_signal(signal.SIGTERM)


def _until_it_listens(
    program: "subprocess.Popen[bytes]", address: tuple[str, int], elsewhere: OtherNetwork | None
) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and program.poll() is None:
        if elsewhere is None:
            try:
                socket.create_connection(address, timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        else:
            probe = f"exec 3<>/dev/tcp/{address[0]}/{address[1]}"
            argv = [*elsewhere.enter, "bash", "-c", probe]
            if subprocess.run(argv, stderr=subprocess.DEVNULL).returncode == 0:
                return
            time.sleep(0.05)
    raise AssertionError(f"{program.args!r} does not listen at {address}")
