"""SSH logins: what a client has to know, and certificates for one sandbox.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Transport, get, post

Role = Literal["viewer", "controller", "owner"]


class Ssh(Shape):
    """The gateway. `address` is `host:port`, null where it listens at none: then only `atoll
    ssh` reaches it. The keys are lines of OpenSSH. Who trusts `host_authority` for the name
    `alias` knows the gateway; `user_authority` signs the certificates of users."""

    address = fields.text()
    alias = fields.text()
    host_key = fields.text()
    host_fingerprint = fields.text()
    host_authority = fields.text()
    user_authority = fields.text()


class SshCertificate(Shape):
    """A certificate: a line for a file `-cert.pub`. It opens one sandbox, in a role at its
    terminals, and ends no later than the link or the token by which it was made."""

    certificate = fields.text()
    sandbox_id = fields.text()
    role: Field[Role] = fields.word()
    serial = fields.text()
    fingerprint = fields.text()
    expires_at = fields.text()


class SshCertificateBody(TypedDict, total=False):
    """The public key to certify, a line of OpenSSH, and for how long: 5 minutes to 8 hours."""

    public_key: Required[str]
    ttl: int | str


class SshGateway:
    """The SSH gateway. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self) -> Ssh:
        """Return what a client of SSH has to know."""
        return self._transport.read(Ssh, get("ssh"))

    def certify(self, name: str, body: SshCertificateBody) -> SshCertificate:
        """Make a certificate, by which the holder of a key logs in to a sandbox for a while."""
        return self._transport.read(
            SshCertificate, post("sandboxes", name, "ssh", "certificates", value=body)
        )
