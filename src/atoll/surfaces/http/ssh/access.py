"""Routes of SSH logins."""

from atoll.domain.ssh.certificate import HOST_ALIAS, CertificateRequest
from atoll.domain.ssh.key import read_public_key
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.ssh import access as api
from atoll.wire.api.ssh.access import SshGateway

operations = Operations()


@operations.serves(SshGateway.get)
async def get_ssh(context: RequestContext) -> api.SshView:
    keys = await context.atoll.ssh.authority.public()
    return api.SshView(
        address=context.atoll.ssh.address(),
        alias=HOST_ALIAS,
        host_key=keys.host.line,
        host_fingerprint=keys.host.fingerprint,
        host_authority=keys.host_authority.line,
        user_authority=keys.user_authority.line,
    )


@operations.serves(SshGateway.certify)
async def make_ssh_certificate(
    context: RequestContext, sandbox: str, body: api.SshCertificateBody
) -> api.SshCertificateView:
    request = CertificateRequest(read_public_key(body.public_key, field="public_key"), body.ttl)
    issued = await context.atoll.ssh.certificates.issue(context.caller, sandbox, request)
    return api.SshCertificateView(
        certificate=issued.line,
        sandbox_id=issued.sandbox.id,
        role=issued.right.role,
        serial=str(issued.serial),
        fingerprint=request.key.fingerprint,
        expires_at=issued.ends_at.isoformat(),
    )
