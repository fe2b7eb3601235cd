"""Keys of the installation: each is sealed for its own purpose."""

from atoll.domain.ssh.identity import SshIdentity, SshIdentityName, bound_to
from atoll.testing.samples import NOW


def test_private_halves_are_sealed_apart() -> None:
    identities = [SshIdentity(name, "ssh-ed25519 AAAA", NOW) for name in SshIdentityName]
    assert len({bound_to(identity.name) for identity in identities}) == len(SshIdentityName)
