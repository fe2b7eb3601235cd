"""The installation's own keys for SSH: the gateway's, and those that sign certificates.

They lie in the store, so that all replicas have the same; the private halves are sealed by the
vault. Each is made at the first use. None is ever replaced: clients remember them.
"""

import base64
import secrets
from dataclasses import dataclass, field

from atoll.domain.errors import Unavailable
from atoll.domain.ssh.certificate import host_certificate
from atoll.domain.ssh.identity import SshIdentity, SshIdentityName, bound_to
from atoll.domain.ssh.key import PublicKey, read_public_key
from atoll.ports.signer import SshSigner
from atoll.ports.store.store import Transaction
from atoll.ports.vault import Sealed, Vault
from atoll.services.ground import Ground
from atoll.wire.ssh.certificate import (
    Certificate,
    SignedCertificate,
    add_signature,
    write_certificate,
)
from atoll.wire.ssh.strings import read_strings

NONCE_BYTES = 32


@dataclass(frozen=True, slots=True)
class GatewayHost:
    """The identity of the gateway: its private key (PEM of OpenSSH), its public key and its
    certificate, both lines of OpenSSH."""

    private: str = field(repr=False)
    public: str
    certificate: str


@dataclass(frozen=True, slots=True)
class PublicKeys:
    """The public keys of the installation: what a client is to know."""

    host: PublicKey
    host_authority: PublicKey
    user_authority: PublicKey


class SshAuthority:
    """Signs certificates in the name of this installation."""

    def __init__(self, ground: Ground, vault: Vault, signer: SshSigner) -> None:
        self._ground = ground
        self._vault = vault
        self._signer = signer
        self._known: dict[SshIdentityName, PublicKey] = {}

    async def host(self, names: tuple[str, ...] = ()) -> GatewayHost:
        """Return the identity of the gateway, whose certificate also holds for these names."""
        key, authority = await self._keys(SshIdentityName.HOST, SshIdentityName.HOST_AUTHORITY)
        nonce = secrets.token_bytes(NONCE_BYTES)
        certificate = host_certificate(key, authority=authority.blob, nonce=nonce, names=names)
        blob = await self._sign(SshIdentityName.HOST_AUTHORITY, certificate)
        private = await self._open(SshIdentityName.HOST)
        return GatewayHost(private, key.line, spell_certificate(blob))

    async def public(self) -> PublicKeys:
        """Return the public keys."""
        return PublicKeys(
            *await self._keys(
                SshIdentityName.HOST,
                SshIdentityName.HOST_AUTHORITY,
                SshIdentityName.USER_AUTHORITY,
            )
        )

    async def user_authority(self) -> PublicKey:
        """Return the key that signs the certificates of users."""
        (key,) = await self._keys(SshIdentityName.USER_AUTHORITY)
        return key

    async def sign_user(self, certificate: Certificate) -> str:
        """Return a user's certificate, signed, as a line of OpenSSH."""
        return spell_certificate(await self._sign(SshIdentityName.USER_AUTHORITY, certificate))

    async def signed_user(self, presented: SignedCertificate) -> bool:
        """Report whether a user's certificate is signed by the key that signs those."""
        key = await self.user_authority()
        return self._signer.signed(key.line, presented.signed, presented.signature)

    async def _sign(self, name: SshIdentityName, certificate: Certificate) -> bytes:
        signed = write_certificate(certificate)
        return add_signature(signed, self._signer.sign(await self._open(name), signed))

    async def _keys(self, *names: SshIdentityName) -> list[PublicKey]:
        for name in names:
            if name not in self._known:
                self._known[name] = read_public_key((await self._find(name))[0].public)
        return [self._known[name] for name in names]

    async def _open(self, name: SshIdentityName) -> str:
        """Return a private half. Raises `Failed` for one that the vault cannot open."""
        _, sealed = await self._find(name)
        return self._vault.open(sealed, bound_to(name))

    async def _find(self, name: SshIdentityName) -> tuple[SshIdentity, Sealed]:
        async with self._ground.store.read() as rows:
            row = await rows.ssh_identities.get(name)
        return row or await self._make(name)

    async def _make(self, name: SshIdentityName) -> tuple[SshIdentity, Sealed]:
        """Return a new key, or the one that another request or replica made meanwhile."""
        try:
            async with self._ground.store.begin() as rows:
                return await self._add(rows, name)
        except Unavailable:
            async with self._ground.store.read() as rows:
                row = await rows.ssh_identities.get(name)
            if row is None:
                raise
            return row

    async def _add(self, rows: Transaction, name: SshIdentityName) -> tuple[SshIdentity, Sealed]:
        row = await rows.ssh_identities.get(name)
        if row is not None:
            return row
        pair = self._signer.make()
        made = SshIdentity(name, pair.public, self._ground.clock.now())
        sealed = self._vault.seal(pair.private, bound_to(name))
        await rows.ssh_identities.add(made, sealed)
        return made, sealed


def spell_certificate(blob: bytes) -> str:
    """Return a certificate as a line of OpenSSH."""
    kind = read_strings(blob[: 4 + int.from_bytes(blob[:4], "big")])[0].decode()
    return f"{kind} {base64.b64encode(blob).decode()}"
