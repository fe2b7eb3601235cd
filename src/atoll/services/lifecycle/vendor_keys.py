"""Keys of vendors: which secrets pay for a sandbox's machine, opened for the extension alone."""

from collections.abc import Collection, Mapping, Sequence

import structlog

from atoll.domain.errors import AtollError, Invalid
from atoll.domain.ids import EVERY_MEMBER, PERSONAL_ORG, SandboxId
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.secrets.secret import ScopeSubject, bound_to, paying, paying_any
from atoll.ports import Kept, Store, Transaction, Vault
from atoll.ports.extension import Extension, VendorKey

_log = structlog.get_logger(__name__)


class VendorKeys:
    """The secrets of the kind `extension`."""

    def __init__(self, store: Store, vault: Vault) -> None:
        self._store = store
        self._vault = vault

    async def find(self, extension: str, sandbox_id: SandboxId | None) -> Sequence[VendorKey]:
        """Return the keys that may pay for a sandbox, the one that does first; all there are
        without one, or for one that is not known. Raises `Unavailable`."""
        async with self._store.read() as rows:
            entries = await rows.secrets.everything()
            sandbox = None if sandbox_id is None else await rows.sandboxes.get(sandbox_id)
        secrets = [entry.secret for entry in entries]
        if sandbox is None:
            chosen = paying_any(secrets, extension)
        else:
            chosen = paying(secrets, extension, _subject(sandbox))
        by_id = {entry.secret.id: entry for entry in entries}
        opened = (self._open_key(by_id[secret.id]) for secret in chosen)
        return [key for key in opened if key is not None]

    async def has(self, caller: Principal, extension: str) -> bool:
        """Report whether a key would pay for a sandbox of the caller."""
        async with self._store.read() as rows:
            subject = ScopeSubject(caller.org_id, caller.id, "", "")
            return await has_key(rows, extension, subject)

    def _open_key(self, entry: Kept) -> VendorKey | None:
        try:
            return VendorKey(
                entry.secret.id, self._vault.open(entry.sealed, bound_to(entry.secret))
            )
        except AtollError as error:
            _log.error("value_unopened", id=entry.secret.id, reason=error.message)
            return None


def check_paid(extensions: Mapping[str, Extension], installed: Collection[str], name: str) -> None:
    """Check that a key can pay for an extension's machines. One that is installed, and not on or
    not set up yet, may be given its key before. Raises `Invalid`."""
    backend = find_backend(extensions, installed, name, field="extension")
    if backend is not None and not _takes_key(backend):
        raise Invalid(f"{name} takes no key: its machines are not a vendor's.", field="extension")


def find_backend(
    extensions: Mapping[str, Extension], installed: Collection[str], name: str, *, field: str
) -> Extension | None:
    """Return the extension that calls itself so, None for one that is installed and not on. Raises
    `Invalid` for a name that none has."""
    backend = next((extension for extension in extensions.values() if extension.name == name), None)
    if backend is None and name not in installed:
        raise Invalid(
            f"There is no backend {name}: `atoll extension list` names those that there are.",
            field=field,
        )
    return backend


def _takes_key(extension: Extension) -> bool:
    try:
        return extension.capabilities().needs_key
    except AtollError:
        return True


async def has_key(rows: Transaction, extension: str, subject: ScopeSubject) -> bool:
    """Report whether a key would pay for that sandbox."""
    mine = await rows.secrets.visible(subject.org_id, subject.owner)
    shared = await rows.secrets.visible(PERSONAL_ORG, EVERY_MEMBER)
    return bool(paying([*mine, *shared], extension, subject))


async def pays_for(rows: Transaction, extension: str, sandbox: Sandbox) -> bool:
    """Report whether a key would pay for a sandbox's machine."""
    return await has_key(rows, extension, _subject(sandbox))


def _subject(sandbox: Sandbox) -> ScopeSubject:
    return ScopeSubject(sandbox.org_id, sandbox.owner, sandbox.id, sandbox.profile.id)
