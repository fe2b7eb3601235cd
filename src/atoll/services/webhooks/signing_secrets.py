"""The secrets that sign the messages of webhooks.

A person's webhook has secrets of its own. A lifecycle webhook is signed by a custom secret of its
owner, which is opened for each message: a rotation counts at once, and a removal ends the messages.
"""

from collections.abc import Sequence
from datetime import datetime

from atoll.domain.errors import Failed, Invalid
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.secrets.secret import ScopeSubject, Secret, applicable_secrets
from atoll.domain.secrets.secret import bound_to as secret_binding
from atoll.domain.webhooks.signature import bound_to, checked_secret
from atoll.domain.webhooks.webhook import Webhook
from atoll.ports import Kept, Store, Transaction, Vault
from atoll.ports.store.webhooks import KeptWebhook
from atoll.wire.words.secrets import Purpose

_FIELD = "lifecycle_webhook.secret_ref"


class SigningSecrets:
    """Secrets in the clear, for as long as a message is made. No error has a value."""

    def __init__(self, store: Store, vault: Vault) -> None:
        self._store = store
        self._vault = vault

    async def read(self, record: KeptWebhook, now: datetime) -> Sequence[str]:
        """Return the secrets that sign now, the newest first. Raises `Failed`, also for one that
        its owner removed or changed to something that cannot sign."""
        webhook = record.webhook
        if webhook.secret_id is not None:
            return [await self._read_of_owner(webhook)]
        return [
            self._vault.open(key.sealed, bound_to(webhook, key.version))
            for key in record.keys
            if key.until is None or now < key.until
        ]

    async def find(self, rows: Transaction, sandbox: Sandbox, ref: str) -> Secret:
        """Return the secret that a create names, by name or id. Raises `Invalid` for one that is
        not there for this sandbox, in the same words whether it is missing or somebody else's, and
        for one that cannot sign."""
        entries = await rows.secrets.sealed(sandbox.org_id, sandbox.owner)
        subject = ScopeSubject(sandbox.org_id, sandbox.owner, sandbox.id, sandbox.profile.id)
        for secret in applicable_secrets((entry.secret for entry in entries), subject):
            if ref in (secret.name, secret.id):
                self._check(next(entry for entry in entries if entry.secret.id == secret.id))
                return secret
        raise Invalid(
            f"There is no secret {ref[:80]!r} for this sandbox: set it with `atoll secret set`.",
            code="unknown_secret",
            field=_FIELD,
        )

    def _check(self, entry: Kept) -> None:
        secret = entry.secret
        if secret.use.purpose is not Purpose.CUSTOM or secret.exposed:
            raise Invalid(
                f"{secret.name} does not sign: a webhook is signed by a custom secret that never "
                "enters a sandbox.",
                field=_FIELD,
            )
        try:
            checked_secret(self._vault.open(entry.sealed, secret_binding(secret)))
        except Invalid as error:
            raise Invalid(f"{secret.name} does not sign: {error.message}.", field=_FIELD) from None

    async def _read_of_owner(self, webhook: Webhook) -> str:
        async with self._store.read() as rows:
            entries = await rows.secrets.sealed(webhook.org_id, webhook.owner)
        for entry in entries:
            if entry.secret.id == webhook.secret_id:
                try:
                    return checked_secret(
                        self._vault.open(entry.sealed, secret_binding(entry.secret))
                    )
                except Invalid as error:
                    raise Failed(
                        f"The secret {entry.secret.name} does not sign: {error.message}."
                    ) from None
        raise Failed("The secret that signs was removed: nothing is posted without a signature.")
