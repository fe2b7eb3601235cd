"""Opening of the login providers that the settings name."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from importlib.util import find_spec

from atoll.domain.errors import Failed
from atoll.ports.clock import Clock
from atoll.ports.identity import IdentityProvider
from atoll.services.people.identity.settings import AuthSettings
from atoll.wiring.control.vaulting import held


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
        held(secret)
    provider = OidcProvider(clock, secrets, ProviderHttp())
    stack.push_async_callback(provider.close)
    return provider
