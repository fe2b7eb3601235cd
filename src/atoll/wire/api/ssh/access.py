"""SSH logins: what a client has to know, and certificates for one sandbox."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import SandboxRef, Seconds
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.people import DEFAULT_CERTIFICATE_SECONDS, MAX_KEY_LINE
from atoll.wire.words.terminals import Role


class SshView(Answer):
    """The gateway. `address` is `host:port`, null where it listens at none: then only `atoll ssh`
    reaches it. The keys are lines of OpenSSH. Who trusts `host_authority` for the name `alias`
    knows the gateway; `user_authority` signs the certificates of users."""

    address: str | None
    alias: str
    host_key: str
    host_fingerprint: str
    host_authority: str
    user_authority: str


class SshCertificateBody(Request):
    """The public key to certify, a line of OpenSSH, and for how long: 5 minutes to 8 hours."""

    public_key: Annotated[str, Meta(min_length=1, max_length=MAX_KEY_LINE)]
    ttl: Seconds = Seconds(DEFAULT_CERTIFICATE_SECONDS)


class SshCertificateView(Answer):
    """A certificate: a line for a file `-cert.pub`. It opens one sandbox, in a role at its
    terminals, and ends no later than the link or the token by which it was made."""

    certificate: str
    sandbox_id: str
    role: Role
    serial: str
    fingerprint: str
    expires_at: str


class SshGateway(Area):
    """The SSH gateway."""

    tag = "ssh"

    @operation("GET /v1/ssh", name="get_ssh", needs="me.manage")
    def get(self) -> SshView:
        """Return what a client of SSH has to know."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/ssh/certificates",
        name="make_ssh_certificate",
        status=201,
        needs="terminal.watch",
        problems=(404, 409),
    )
    def certify(self, sandbox: SandboxRef, body: SshCertificateBody) -> SshCertificateView:
        """Make a certificate, by which the holder of a key logs in to a sandbox for a while."""
