"""Certificates at the gateway: for one sandbox, for a while, as far as their right stands."""

import subprocess
from pathlib import Path

import httpx
import pytest

from atoll.surfaces.http.server.credentials import PAGE_KEY
from tests.e2e.ssh.client import SshClient
from tests.peers.api import Api

REFUSED = b"Permission denied (publickey)."


def certified(client: SshClient, line: str) -> None:
    """Lay a certificate beside a key, where OpenSSH finds it."""
    Path(f"{client.key}-cert.pub").write_text(line + "\n")


@pytest.fixture
def visitor(ada: SshClient, tmp_path: Path) -> SshClient:
    """Somebody with a key that nobody added."""
    return SshClient.made(ada.server, tmp_path, "visitor")


def asked(calls: Api, box: str, client: SshClient, **more: object) -> str:
    """Return a certificate that the person of the server asked for."""
    body = {"public_key": client.public, **more}
    told = calls.call("POST", f"/v1/sandboxes/{box}/ssh/certificates", json=body)
    return str(told["certificate"])


def test_a_certificate_opens_its_sandbox_and_no_other(
    visitor: SshClient, box: str, calls: Api
) -> None:
    other = calls.create(name="other")
    certified(visitor, asked(calls, box, visitor))
    assert visitor.run(box, "echo in").stdout == b"in\n"
    assert visitor.run(calls.sandbox(box)["sandbox_id"], "echo by id").stdout == b"by id\n"
    assert REFUSED in visitor.run("other", "true").stderr
    calls.act(other["sandbox_id"], "destroy")


def test_a_certificate_of_another_authority_is_refused(
    visitor: SshClient, box: str, calls: Api, tmp_path: Path
) -> None:
    sandbox = calls.sandbox(box)["sandbox_id"]
    authority = tmp_path / "ca"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(authority)], check=True
    )
    public = visitor.key.with_suffix(".pub")
    words = ["ssh-keygen", "-q", "-s", str(authority), "-I", "x", "-n", sandbox, "-V", "+1h"]
    subprocess.run([*words, str(public)], check=True)
    assert REFUSED in visitor.run(box, "true").stderr


def test_a_certificate_without_its_key_is_refused(
    ada: SshClient, visitor: SshClient, box: str, calls: Api, tmp_path: Path
) -> None:
    thief = SshClient.made(ada.server, tmp_path, "thief")
    certified(thief, asked(calls, box, visitor))
    assert thief.run(box, "true").returncode == 255


def test_a_guest_joins_the_terminal_of_their_link_and_runs_nothing(
    ada: SshClient, visitor: SshClient, box: str, calls: Api
) -> None:
    sandbox, terminal = calls.sandbox(box)["sandbox_id"], calls.terminal(box)
    link = calls.call(
        "POST",
        f"/v1/sandboxes/{sandbox}/shares",
        json={"role": "viewer", "terminal_id": terminal},
    )
    secret = link["link"].partition("#share=")[2]
    with httpx.Client(base_url=ada.server.url) as guest:
        entered = guest.post("/auth/guests", json={"ticket": secret, "name": "Bob"}).json()
        body = {"public_key": visitor.public}
        answer = guest.post(
            f"/v1/sandboxes/{sandbox}/ssh/certificates",
            json=body,
            headers={PAGE_KEY: entered["page_key"], "Origin": ada.server.url},
        )
        assert answer.status_code == 201, answer.text
    certified(visitor, answer.json()["certificate"])
    assert visitor.run(sandbox, "echo in").stdout == b""
    with visitor.terminal(sandbox) as shell:
        shell.await_text(b"watching only")
        calls.call("DELETE", f"/v1/sandboxes/{sandbox}/shares/{link['share_id']}")
        shell.await_end()
    assert REFUSED in visitor.run(sandbox, "true").stderr
