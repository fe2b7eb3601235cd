"""SSH certificates: who gets one, what `ssh-keygen` finds in it, and what makes it worthless."""

import base64
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from atoll.adapters.auth.ssh_signer import Ed25519SshSigner
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId
from atoll.domain.ssh.key import read_public_key
from atoll.services.ssh.certificates import CertifiedCaller
from atoll.surfaces.http.server.credentials import PAGE_KEY
from atoll.wire.ssh.certificate import add_signature, read_certificate, write_certificate
from atoll.wire.ssh.strings import Unreadable, pack
from atoll.wire.words.people import OrgRole
from atoll.wire.words.terminals import Role
from tests.surfaces.http.ssh.test_keys import ed25519
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /v1/sandboxes/{sandbox}/ssh/certificates": {
        "public_key": "test_certificate_is_one_that_openssh_reads",
        "ttl": "test_certificate_ends_at_its_end",
    },
}


async def sandbox(client: httpx.AsyncClient, **body: object) -> str:
    made = await client.post("/v1/sandboxes?wait=ready", json={"profile": "shell", **body})
    assert made.status_code == 201, made.text
    return str(made.json()["sandbox_id"])


async def certify(client: httpx.AsyncClient, box: str, **body: object) -> dict[str, Any]:
    answer = await client.post(
        f"/v1/sandboxes/{box}/ssh/certificates", json={"public_key": ed25519(), **body}
    )
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def blob_of(made: dict[str, Any]) -> bytes:
    return base64.b64decode(made["certificate"].split()[1])


async def judge(atoll: World, made: dict[str, Any], box: str | None = None) -> CertifiedCaller:
    own = SandboxId(box or made["sandbox_id"])
    return await atoll.services.ssh.certificates.judge(blob_of(made), own)


async def test_certificate_is_one_that_openssh_reads(atoll: World, tmp_path: Path) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = await sandbox(client)
        made = await certify(client, box, public_key=f"{ed25519(5)} ada@laptop")
        gateway = (await client.get("/v1/ssh")).json()
        events = (await client.get("/v1/events", params={"stream": f"sandbox:{box}"})).json()
    (tmp_path / "id-cert.pub").write_text(made["certificate"] + "\n")
    command = ["ssh-keygen", "-L", "-f", str(tmp_path / "id-cert.pub")]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    signer = read_public_key(gateway["user_authority"]).fingerprint
    for words in ("user certificate", box, f"owner of {box}", "permit-pty", signer):
        assert words in shown
    assert made["fingerprint"] == read_public_key(ed25519(5)).fingerprint
    assert made["role"] == "owner"
    caller = await judge(atoll, made)
    assert (caller.principal.id, caller.role) == ("person", Role.OWNER)
    (event,) = [one for one in events["events"] if one["event_type"] == "ssh.certified"]
    assert event["payload"]["serial"] == made["serial"]
    assert made["certificate"] not in str(events)


async def test_certificate_ends_at_its_end(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = await sandbox(client)
        made = await certify(client, box, ttl="5m")
        for ttl in (299, "9h", 0, -1):
            refused = await client.post(
                f"/v1/sandboxes/{box}/ssh/certificates",
                json={"public_key": ed25519(), "ttl": ttl},
            )
            assert (refused.status_code, refused.json()["field"]) == (422, "ttl")
    atoll.clock.at += timedelta(seconds=298)
    caller = await judge(atoll, made)
    atoll.clock.at += timedelta(seconds=3)
    with pytest.raises(Unreadable, match="now"):
        await judge(atoll, made)
    certificates = atoll.services.ssh.certificates
    assert await certificates.caller(caller.right, SandboxId(box), caller.ends_at) is None


@pytest.mark.parametrize(
    "key", [f'command="id" {ed25519()}', "ssh-rsa AAAA", "x" * 16384, f"{ed25519()}\n{ed25519()}"]
)
async def test_what_is_no_key_is_not_certified(atoll: World, key: str) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = await sandbox(client)
        answer = await client.post(
            f"/v1/sandboxes/{box}/ssh/certificates", json={"public_key": key}
        )
    assert (answer.status_code, answer.json()["field"]) == (422, "public_key")


async def test_forged_foreign_and_moved_certificates_open_nothing(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box, other = await sandbox(client), await sandbox(client, name="other")
        made = await certify(client, box)
    with pytest.raises(Unreadable, match="another sandbox"):
        await judge(atoll, made, other)
    presented = read_certificate(blob_of(made))
    signer = Ed25519SshSigner()
    pair = signer.make()
    foreign = read_public_key(pair.public).blob

    def forged(sign_by: str | None = None, **fields: object) -> dict[str, Any]:
        signed = write_certificate(replace(presented.certificate, **fields))  # type: ignore[arg-type]
        signature = presented.signature if sign_by is None else signer.sign(sign_by, signed)
        line = base64.b64encode(add_signature(signed, signature)).decode()
        return {"certificate": f"x {line}", "sandbox_id": box}

    for attempt, why in (
        (forged(pair.private, authority=foreign), "another authority"),
        (forged(pair.private), "not ours"),
        (forged(principals=(other,)), "another sandbox"),
        (forged(serial=1), "not ours"),
        (forged(key=pack(b"ssh-ed25519", b"k" * 32)), "not ours"),
        (forged(valid_before=presented.certificate.valid_before + 60), "not ours"),
    ):
        with pytest.raises(Unreadable, match=why):
            await judge(atoll, attempt)
    host = await atoll.services.ssh.authority.host()
    with pytest.raises(Unreadable):
        await judge(atoll, {"certificate": host.certificate, "sandbox_id": box})


async def team(atoll: World) -> Team:
    return await team_of(atoll, ann="member", bob="member", viola="viewer")


async def test_member_has_the_role_of_both_then_and_now(atoll: World) -> None:
    made = await team(atoll)
    async with made.client("ann") as ann, made.client("bob") as bob:
        private, shared = await sandbox(ann), await sandbox(ann, name="open", scope="shared")
        of_bob = await certify(bob, shared)
        of_ann = await certify(ann, private)
        hidden = await bob.post(
            f"/v1/sandboxes/{private}/ssh/certificates", json={"public_key": ed25519()}
        )
        assert hidden.status_code == 404
    viola = await made.call(
        "viola", "POST", f"/v1/sandboxes/{shared}/ssh/certificates", json={"public_key": ed25519()}
    )
    assert viola.json()["role"] == "viewer"
    assert (await judge(atoll, of_bob)).role is Role.CONTROLLER
    assert (await judge(atoll, of_ann)).role is Role.OWNER
    memberships = atoll.services.tenancy.memberships
    await made.as_role("bob", OrgRole.VIEWER)
    memberships.forget(PERSONAL_ORG, PrincipalId("bob"))
    assert (await judge(atoll, of_bob)).role is Role.VIEWER
    await made.as_role("viola", OrgRole.MEMBER)
    memberships.forget(PERSONAL_ORG, PrincipalId("viola"))
    assert (await judge(atoll, viola.json())).role is Role.VIEWER
    right = (await judge(atoll, of_bob)).right
    ends_at = atoll.clock.now() + timedelta(minutes=5)
    gone = await made.call(None, "DELETE", "/v1/organizations/acme/members/bob")
    assert gone.status_code == 204
    with pytest.raises(Unreadable, match="revoked"):
        await judge(atoll, of_bob)
    certificates = atoll.services.ssh.certificates
    assert await certificates.caller(right, SandboxId(shared), ends_at) is None


async def test_certificate_of_a_token_is_no_more_than_it_and_ends_with_it(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = await sandbox(client)
        capabilities = ["terminal.watch", "sandbox.read", "token.manage"]
        body = {"name": "ci", "ttl": "10m", "capabilities": capabilities}
        pat = (await client.post("/auth/pat", json=body)).json()
        inside = (await client.post("/auth/pat", json={"name": "in", "sandbox_id": box})).json()
        signed = (await client.post("/auth/token", json={})).json()["access_token"]
    async with client_of(atoll.url, pat["token"]) as client:
        made = await certify(client, box, ttl="8h")
    caller = await judge(atoll, made)
    assert caller.role is Role.VIEWER and "exec.use" not in caller.principal.capabilities
    assert caller.ends_at <= atoll.clock.now() + timedelta(minutes=10)
    for token in (inside["token"], signed):
        async with client_of(atoll.url, token) as client:
            refused = await client.post(
                f"/v1/sandboxes/{box}/ssh/certificates", json={"public_key": ed25519()}
            )
        assert refused.status_code in (403, 404), refused.text
    async with client_of(atoll.url, atoll.token) as client:
        assert (await client.delete(f"/v1/tokens/{pat['id']}")).status_code == 204
    with pytest.raises(Unreadable, match="revoked"):
        await judge(atoll, made)


async def share(
    atoll: World, client: httpx.AsyncClient, box: str, **body: object
) -> tuple[str, dict[str, str]]:
    """Return the id of a link, and the headers of a guest who came by it."""
    link = (await client.post(f"/v1/sandboxes/{box}/shares", json=body)).json()
    secret = link["link"].partition("#share=")[2]
    async with client_of(atoll.url) as visitor:
        entered = await visitor.post("/auth/guests", json={"ticket": secret, "name": "Bob"})
    cookie = entered.cookies["atoll_guest"]
    key = atoll.services.logins.page_key(cookie)
    headers = {"Cookie": f"atoll_guest={cookie}", PAGE_KEY: key, "Origin": atoll.url}
    return link["share_id"], headers


async def test_guest_has_a_certificate_that_ends_with_the_link(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client, client_of(atoll.url) as guest:
        box, other = await sandbox(client), await sandbox(client, name="other")
        share_id, headers = await share(atoll, client, box, role="controller", ttl="1h")
        guest.headers.update(headers)
        made = await certify(guest, box, ttl="8h")
        assert (await guest.get("/v1/ssh")).json()["alias"] == "atoll"
        for ref in (other, "box", "sb_none"):
            foreign = await guest.post(
                f"/v1/sandboxes/{ref}/ssh/certificates", json={"public_key": ed25519()}
            )
            assert foreign.status_code == 404
        assert (await guest.get("/v1/ssh/keys")).status_code == 404
        added = await guest.post("/v1/ssh/keys", json={"key": ed25519()})
        assert added.status_code == 404
        caller = await judge(atoll, made)
        assert caller.principal.guest_access is not None
        assert (caller.principal.name, caller.role) == ("Bob", Role.CONTROLLER)
        assert caller.ends_at <= atoll.clock.now() + timedelta(hours=1)
        await client.delete(f"/v1/sandboxes/{box}/shares/{share_id}")
    with pytest.raises(Unreadable, match="revoked"):
        await judge(atoll, made)


async def test_certificate_of_a_guest_who_left_opens_nothing(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client, client_of(atoll.url) as guest:
        box = await sandbox(client)
        _, headers = await share(atoll, client, box)
        _, others = await share(atoll, client, box, role="controller")
        guest.headers.update(headers)
        made = await certify(guest, box)
        assert (await judge(atoll, made)).role is Role.VIEWER
        await guest.post("/auth/logout")
        guest.headers.update(others)
        await certify(guest, box)
    with pytest.raises(Unreadable, match="revoked"):
        await judge(atoll, made)


async def test_guest_of_a_recording_has_no_certificate(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client, client_of(atoll.url) as guest:
        box = await sandbox(client)
        _, headers = await share(atoll, client, box, recording_id="r_1")
        guest.headers.update(headers)
        refused = await guest.post(
            f"/v1/sandboxes/{box}/ssh/certificates", json={"public_key": ed25519()}
        )
    assert refused.status_code == 404


async def test_sandbox_that_is_gone_is_not_entered(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = await sandbox(client)
        assert (await client.delete(f"/v1/sandboxes/{box}?wait=true")).status_code in (200, 202)
        refused = await client.post(
            f"/v1/sandboxes/{box}/ssh/certificates", json={"public_key": ed25519()}
        )
    assert refused.status_code in (404, 409)


async def test_gateway_has_one_identity_for_good(atoll: World, tmp_path: Path) -> None:
    authority = atoll.services.ssh.authority
    first, again = await authority.host(("box.example",)), await authority.host()
    assert (first.private, first.public) == (again.private, again.public)
    assert first.private not in repr(first)
    async with client_of(atoll.url, atoll.token) as client:
        shown = (await client.get("/v1/ssh")).json()
    assert (shown["host_key"], shown["address"]) == (first.public, None)
    (tmp_path / "host-cert.pub").write_text(first.certificate + "\n")
    command = ["ssh-keygen", "-L", "-f", str(tmp_path / "host-cert.pub")]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for words in ("host certificate", "forever", "atoll", "box.example"):
        assert words in listed
    # No private half is in the store in the clear.
    async with atoll.ground.store.read() as rows:
        for identity, sealed in await rows.ssh_identities.all():
            assert b"PRIVATE KEY" not in sealed.body + sealed.wrapped
            assert "PRIVATE KEY" not in identity.public
