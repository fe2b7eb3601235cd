"""The use cases of SSH, built from the ports and services they use."""

from atoll.adapters.auth.ssh_signer import Ed25519SshSigner
from atoll.ports.outside.ssh_gateway import SshGateway
from atoll.ports.vault import Vault
from atoll.services.application import Tenancy
from atoll.services.ground import Ground
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.ssh.authority import SshAuthority
from atoll.services.ssh.certificates import SshCertificates
from atoll.services.ssh.gateway import SshServices
from atoll.services.ssh.keys import SshKeys
from atoll.services.ssh.logins import SshLogins
from atoll.services.terminals.terminals import Terminals
from atoll.wiring.control.access import Access


def build_ssh(
    ground: Ground,
    sandboxes: Sandboxes,
    runtimes: RuntimeAccess,
    access: Access,
    *,
    tenancy: Tenancy,
    terminals: Terminals,
    vault: Vault,
    gateway: SshGateway,
) -> SshServices:
    """Return the use cases of SSH."""
    authority = SshAuthority(ground, vault, Ed25519SshSigner())
    tokens = tenancy.credentials.tokens
    certificates = SshCertificates(ground, authority, sandboxes, tokens)
    keys = SshKeys(ground, access.owners)
    logins = SshLogins(ground, keys, certificates, runtimes, terminals)
    return SshServices(keys, authority, certificates, logins, gateway, sandboxes)
