"""A browser that logs in at a provider: it keeps cookies and follows where it is led."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx

from atoll.services.people.identity.settings import AuthOptions, AuthSettings
from tests.peers.identity.oidc_provider import OidcProcess
from tests.surfaces.http.world import World, client_of


class Issuing(Protocol):
    """A provider, as far as settings name it."""

    issuer: str


@dataclass
class Browser:
    """A browser with cookies of its own, and the page's key once it is logged in."""

    world: World
    client: httpx.AsyncClient
    headers: dict[str, str] = field(default_factory=dict)

    async def begin(self, path: str = "/auth/oidc/corp/login") -> str:
        """Open the login; return the provider's address."""
        answer = await self.client.get(path)
        assert answer.status_code == 302, answer.text
        return answer.headers["location"]

    async def come_back(self, url: str) -> str:
        """Open the callback; return the ticket in the fragment."""
        answer = await self.client.get(url)
        assert answer.status_code == 302, answer.text
        parts = urlsplit(answer.headers["location"])
        assert parts.path == "/"
        return parts.fragment.removeprefix("login=")

    async def trade(self, ticket: str) -> httpx.Response:
        """Trade a ticket, as the page does."""
        answer = await self.client.post(
            "/auth/login", json={"ticket": ticket}, headers={"Origin": self.world.url}
        )
        if answer.status_code == 200:
            self.headers = {"Origin": self.world.url, "Atoll-Page-Key": answer.json()["page_key"]}
        return answer

    async def log_in(
        self, provider: OidcProcess, sub: str, path: str = "/auth/oidc/corp/login"
    ) -> dict[str, Any]:
        """Log in as a user of the provider; return the caller."""
        back = provider.confirm(await self.begin(path), sub)
        answer = await self.trade(await self.come_back(back))
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def call(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Call the API as the page does."""
        return await self.client.request(method, path, headers=self.headers, **more)


@asynccontextmanager
async def browser(world: World) -> AsyncIterator[Browser]:
    """A browser that knows nothing yet."""
    async with client_of(world.url, follow_redirects=False) as client:
        yield Browser(world, client)


def corp(provider: Issuing, **realm: Any) -> AuthSettings:
    """Settings with one realm, `corp`."""
    named = {
        "realm": "corp",
        "issuer": provider.issuer,
        "client_id": "atoll",
        "client_secret_env": "OIDC_SECRET",
        **realm,
    }
    return AuthSettings(AuthOptions(mode="oidc", realms=(named,)))
