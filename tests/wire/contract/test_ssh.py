"""What the SSH gateway and the control plane send each other, and what they do not show."""

import msgspec
import pytest

from atoll.wire.contract.ssh import Identity, LoginClaim, LoginGrant, Report, Reports, Way
from atoll.wire.words.terminals import Role


@pytest.mark.parametrize(
    "message",
    [
        Identity(host_key="-----BEGIN", address="127.0.0.1:22"),
        LoginClaim(sandbox="box", credential="AAAA", peer="::1"),
        LoginGrant(
            principal="person",
            name="Ada",
            sandbox_id="sb_1",
            sandbox="box",
            fingerprint="SHA256:x",
            role=Role.OWNER,
            rights=("attach", "open"),
        ),
        Way(address="unix:/x", token="t", query=(("role", "owner"),)),
        Reports(reports=(Report(at=1.5, kind="ssh.opened", fields={"from": "::1"}),)),
    ],
)
def test_message_is_read_as_it_was_written(message: msgspec.Struct) -> None:
    encoded = msgspec.json.encode(message)
    assert msgspec.json.decode(encoded, type=type(message)) == message


@pytest.mark.parametrize(
    ("kind", "encoded"),
    [
        (LoginClaim, b'{"sandbox":"box"}'),
        (LoginGrant, b'{"principal":"p","rights":["root"]}'),
        (Report, b'{"at":1,"kind":"ssh.other"}'),
    ],
)
def test_message_that_is_none_is_refused(kind: type, encoded: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(encoded, type=kind)
