"""The use cases of SSH, built from the ports and services they use."""

from atoll.adapters.auth.ssh_signer import Ed25519SshSigner
from atoll.ports.vault import Vault
from atoll.services.application import SshServices, Tenancy
from atoll.services.ground import Ground
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.ssh.authority import SshAuthority
from atoll.services.ssh.certificates import SshCertificates
from atoll.services.ssh.keys import SshKeys
from atoll.wiring.control.access import Access


def build_ssh(
    ground: Ground, sandboxes: Sandboxes, access: Access, tenancy: Tenancy, *, vault: Vault
) -> SshServices:
    """Return the use cases of SSH."""
    authority = SshAuthority(ground, vault, Ed25519SshSigner())
    tokens = tenancy.credentials.tokens
    certificates = SshCertificates(ground, authority, sandboxes, tokens)
    return SshServices(SshKeys(ground, access.owners), authority, certificates)
