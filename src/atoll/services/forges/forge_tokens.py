"""Repositories at forges, each with the token by which a person reaches it.

A token is a secret of the kind `forge`. No sandbox receives it, and a site without one is not
asked.
"""

from collections.abc import Iterable
from typing import Final

from atoll.domain.errors import NotFound
from atoll.domain.people.principal import Principal
from atoll.domain.repository.forge import ForgeRepository, repository_at
from atoll.domain.sandboxes.sandbox import Sandbox, SandboxRepo
from atoll.domain.secrets.secret import Secret, applicable_secrets, bound_to
from atoll.ports import Store
from atoll.ports.store.secrets import Kept
from atoll.ports.vault import Vault
from atoll.services.policies.policies import scope_subject
from atoll.wire.words.secrets import ORGANIZATION_SCOPE, PERSON_SCOPE, Purpose

_OWN_SCOPES: Final = (PERSON_SCOPE, ORGANIZATION_SCOPE)
"""The scopes of a token that is not for one sandbox or profile, the narrower first."""


class ForgeTokens:
    """The tokens of forges."""

    def __init__(self, store: Store, vault: Vault) -> None:
        self._store = store
        self._vault = vault

    async def of_sandbox(self, sandbox: Sandbox, repo: SandboxRepo) -> ForgeRepository:
        """Return a repository of a sandbox at its forge, with the token of the sandbox's owner.
        Raises `NotFound` (code `no_forge`)."""
        async with self._store.read() as rows:
            entries = await rows.secrets.sealed(sandbox.org_id, sandbox.owner)
        usable = applicable_secrets((entry.secret for entry in entries), scope_subject(sandbox))
        at = self._find(usable, entries, repo.repo_url)
        if at is None:
            place = repo.repo_url or f"{repo.path}, which came from a checkout,"
            raise NotFound(_no_token("this sandbox's owner", place), code="no_forge")
        return at

    async def of_person(self, caller: Principal, repo_url: str) -> ForgeRepository:
        """Return a repository at its forge, with a token of the caller or of their organization.
        Raises `NotFound` (code `no_forge`)."""
        async with self._store.read() as rows:
            entries = await rows.secrets.sealed(caller.org_id, caller.id)
        usable = (
            entry.secret
            for scope in _OWN_SCOPES
            for entry in entries
            if entry.secret.scope == scope
        )
        at = self._find(usable, entries, repo_url)
        if at is None:
            raise NotFound(_no_token("yours", repo_url), code="no_forge")
        return at

    async def named(self, caller: Principal, secret: str) -> ForgeRepository:
        """Return a forge by the id or name of its secret, without a repository. Raises
        `NotFound`."""
        async with self._store.read() as rows:
            entries = await rows.secrets.sealed(caller.org_id, caller.id)
        for entry in entries:
            use = entry.secret.use
            if use.forge is not None and secret in (entry.secret.id, entry.secret.name):
                return ForgeRepository(use.forge, use.target, "", "", self._open(entry))
        raise NotFound(f"There is no secret {secret[:80]!r} for a forge: list them to see.")

    def _find(
        self, usable: Iterable[Secret], entries: Iterable[Kept], repo_url: str
    ) -> ForgeRepository | None:
        """Return the repository by the first secret whose site it is at."""
        sealed = {entry.secret.id: entry for entry in entries}
        for secret in usable:
            use = secret.use
            if use.purpose is not Purpose.FORGE or use.forge is None:
                continue
            at = repository_at(use.forge, use.target, repo_url)
            if at is not None:
                token = self._open(sealed[secret.id])
                return ForgeRepository(at.kind, at.site, at.owner, at.name, token)
        return None

    def _open(self, entry: Kept) -> str:
        return self._vault.open(entry.sealed, bound_to(entry.secret))


def _no_token(whose: str, place: str) -> str:
    return (
        f"No secret of {whose} is for the forge of {place}: set one with `atoll secret set FORGE "
        "--forge github`."
    )
