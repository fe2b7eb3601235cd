"""Logins at a provider: the providers that the settings name, and the sessions of their people."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.util import find_spec

from atoll.domain.errors import Failed
from atoll.ports.clock import Clock
from atoll.ports.outside.identity import IdentityProvider
from atoll.services.ground import Ground
from atoll.services.people.identity.sessions import PersonSessions
from atoll.services.people.identity.settings import AuthSettings
from atoll.wiring.control.vaulting import lock_key


@dataclass(frozen=True, slots=True)
class People:
    """The provider at which people log in, and their sessions."""

    provider: IdentityProvider
    sessions: PersonSessions


def people_of(
    ground: Ground, settings: AuthSettings, provider: IdentityProvider | None
) -> People | None:
    """Return the logins at a provider, None in single-person mode."""
    if provider is None:
        return None
    return People(provider, PersonSessions(ground, settings.used_realms, settings.lives))


async def open_identity(
    settings: AuthSettings, clock: Clock, environ: Mapping[str, str], stack: AsyncExitStack
) -> IdentityProvider | None:
    """Return the login providers, which are asked at the first login; None in single-person mode,
    which loads nothing of this. Raises `Failed` where the library or a secret is missing."""
    realms = settings.used_realms
    if not realms:
        return None
    if find_spec("authlib") is None:
        raise Failed("auth.mode = 'oidc' needs a library: pip install 'atoll[oidc]'")
    from atoll.adapters.identity.client_secrets import read_secrets
    from atoll.adapters.identity.oidc import OidcProvider
    from atoll.adapters.identity.provider_http import ProviderHttp

    secrets = await asyncio.to_thread(read_secrets, realms, environ)
    for secret in secrets.values():
        lock_key(secret)
    provider = OidcProvider(clock, secrets, ProviderHttp())
    stack.push_async_callback(provider.close)
    return provider
