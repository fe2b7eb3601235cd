"""Secrets in the words of a runtime's policy: keys, places, grants, and values to mask.

Which of them apply is decided in `domain.secrets.secret`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from atoll.domain.agents.login_use import ExposedLogin
from atoll.domain.approvals.approval import Approval, SecretAsk
from atoll.domain.network.address import PrivateReach
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.secrets.secret import Secret
from atoll.wire.contract.policy import (
    Approved,
    CustomSecret,
    GatewayReach,
    GitRemote,
    LoginToken,
    ProviderKey,
    RedactedValue,
)
from atoll.wire.words.approvals import GrantScope
from atoll.wire.words.secrets import Purpose


@dataclass(frozen=True, slots=True)
class LentKey:
    """A key that a person logged an agent in with."""

    agent: str
    key: ProviderKey


LentLogin: TypeAlias = LoginToken | LentKey | ExposedLogin
"""A token or key for the doors; or the login whose token goes inside, where there are none."""


@dataclass(frozen=True, slots=True)
class OpenSecret:
    """A secret with its value in the clear, for as long as one policy is composed. `reach` bounds
    where its gateway may lead."""

    secret: Secret
    value: str = field(repr=False)
    reach: PrivateReach | None = None


def exposed_names(mine: Sequence[OpenSecret], logins: Sequence[ExposedLogin]) -> tuple[str, ...]:
    """Return the names of the secrets whose values go inside."""
    names = {entry.secret.name for entry in mine if entry.secret.exposed}
    return tuple(sorted({*names, *(login.name for login in logins)}))


def list_redacted_values(opened: Sequence[OpenSecret]) -> tuple[RedactedValue, ...]:
    """Return the values that may not be shown."""
    return tuple(RedactedValue(name=entry.secret.name, value=entry.value) for entry in opened)


def masked_logins(lent: Sequence[LentLogin]) -> tuple[RedactedValue, ...]:
    """Return the values of logins that may not be shown."""
    return tuple(_masked_login(login) for login in lent)


def _masked_login(login: LentLogin) -> RedactedValue:
    if isinstance(login, ExposedLogin):
        return RedactedValue(name=login.name, value=login.inside.token)
    token = login.key if isinstance(login, LentKey) else login
    return RedactedValue(name=f"login_{token.provider}", value=token.value)


def has_purpose(entry: OpenSecret, purpose: Purpose) -> bool:
    """Report whether a secret has this purpose."""
    return entry.secret.use.purpose is purpose


def provider_key(entry: OpenSecret) -> ProviderKey:
    """Return a secret as the key of a provider."""
    secret = entry.secret
    return ProviderKey(
        provider=secret.use.target,
        secret_id=secret.id,
        version=secret.version,
        value=entry.value,
        base_url=secret.use.base_url,
        reach=_gateway_reach(entry.reach),
    )


def _gateway_reach(reach: PrivateReach | None) -> GatewayReach | None:
    if reach is None:
        return None
    return GatewayReach(loopback=reach.loopback, ranges=reach.ranges)


def custom_secret(entry: OpenSecret) -> CustomSecret:
    """Return a secret as one that goes where its owner allows it."""
    secret = entry.secret
    return CustomSecret(
        secret_id=secret.id,
        name=secret.name,
        version=secret.version,
        value=entry.value,
        slot=secret.use.slot,
        slot_name=secret.use.slot_name,
        headers=secret.use.headers,
    )


def git_remote(entry: OpenSecret) -> GitRemote:
    """Return a secret as the login at a git remote."""
    secret = entry.secret
    return GitRemote(
        url=secret.use.target,
        secret_id=secret.id,
        version=secret.version,
        value=entry.value,
        push=secret.use.push,
    )


def places(secret: Secret) -> tuple[Approved, ...]:
    """Return the hosts its owner named when setting it."""
    return tuple(
        Approved(
            approval_id=f"{secret.id}.{number}",
            secret_id=secret.id,
            version=secret.version,
            host=place.host,
            port=place.port,
        )
        for number, place in enumerate(secret.use.places)
    )


def place_of_grant(approval: Approval, ask: SecretAsk) -> Approved:
    """Return the host that a person approved a secret for, as the runtime receives it."""
    return Approved(
        approval_id=approval.id,
        secret_id=ask.secret_id,
        version=ask.version,
        host=ask.host,
        port=ask.port,
        until=None if approval.until is None else approval.until.timestamp(),
        once=approval.reach is GrantScope.ONCE,
    )


def reaches(approval: Approval, sandbox: Sandbox) -> bool:
    """Report whether an approval is for this sandbox."""
    return approval.reach is GrantScope.ORGANIZATION or approval.requester.sandbox_id == sandbox.id


def is_current(secret: Secret | None, ask: SecretAsk) -> bool:
    """Return whether a grant holds for this secret: it was given to one version."""
    return secret is not None and (secret.name, secret.version) == (ask.secret, ask.version)
