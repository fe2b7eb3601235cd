"""A provider that lies as a test tells it to: its keys are right, what it signs may be anything."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from aiohttp import web
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey


@dataclass
class HostileProvider:
    """What it answers. `token` makes the ID token of claims; `wait` holds discovery back,
    and `held` is set while it does."""

    issuer: str = ""
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "one"}))
    claims: dict[str, Any] = field(default_factory=dict)
    discovery: dict[str, Any] = field(default_factory=dict)
    token: Callable[["HostileProvider", dict[str, Any]], str] | None = None
    userinfo: dict[str, Any] | None = None
    raw: bytes | None = None
    wait: asyncio.Event | None = None
    held: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[str] = field(default_factory=list)
    nonce: str = ""
    challenge: str = ""

    def signed(self, claims: dict[str, Any], **header: Any) -> str:
        """Return a token by the right key."""
        return jwt.encode({"alg": "RS256", "kid": "one", **header}, claims, self.key)

    def confirm(self, url: str) -> str:
        """Return where the provider leads the browser after its page at `url`."""
        asked = {name: found[0] for name, found in parse_qs(urlsplit(url).query).items()}
        self.nonce, self.challenge = asked["nonce"], asked["code_challenge"]
        assert asked["code_challenge_method"] == "S256"
        return f"{asked['redirect_uri']}?{urlencode({'code': 'c', 'state': asked['state']})}"

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", self._discovery)
        app.router.add_get("/jwks", self._jwks)
        app.router.add_post("/token", self._token)
        app.router.add_get("/userinfo", self._userinfo)
        return app

    async def _discovery(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if self.wait is not None:
            self.held.set()
            await self.wait.wait()
        if self.raw is not None:
            return web.Response(body=self.raw, content_type="application/json")
        more = {} if self.userinfo is None else {"userinfo_endpoint": f"{self.issuer}/userinfo"}
        named = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
        }
        return web.json_response({**named, **more, **self.discovery})

    async def _jwks(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        return web.json_response({"keys": [self.key.as_dict(private=False)]})

    async def _token(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        verifier = str((await request.post())["code_verifier"])
        digest = hashlib.sha256(verifier.encode()).digest()
        assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == self.challenge
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "sub": "mal",
            "aud": "atoll",
            "iat": now,
            "exp": now + 60,
            "nonce": self.nonce,
            "name": "Mal",
            "org": "acme",
            **self.claims,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        text = self.signed(claims) if self.token is None else self.token(self, claims)
        return web.json_response({"access_token": "a", "token_type": "Bearer", "id_token": text})

    async def _userinfo(self, request: web.Request) -> web.Response:
        return web.json_response(self.userinfo)


def unsigned(provider: HostileProvider, claims: dict[str, Any]) -> str:
    """Return a token with the algorithm `none`."""
    return f"{_part({'alg': 'none'})}.{_part(claims)}."


def confused(provider: HostileProvider, claims: dict[str, Any]) -> str:
    """Return a token signed with the provider's public key as a shared secret."""
    signed = f"{_part({'alg': 'HS256', 'kid': 'one'})}.{_part(claims)}"
    mac = hmac.digest(provider.key.as_pem(private=False), signed.encode(), hashlib.sha256)
    return f"{signed}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


def foreign(provider: HostileProvider, claims: dict[str, Any]) -> str:
    """Return a token signed with a key that the token itself brings along."""
    key = ECKey.generate_key("P-256", {"kid": "two"})
    header = {"alg": "ES256", "kid": "one", "jwk": key.as_dict(private=False)}
    return jwt.encode(header, claims, key)


def _part(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@asynccontextmanager
async def hostile_provider() -> AsyncIterator[HostileProvider]:
    """A hostile provider on loopback."""
    provider = HostileProvider()
    runner = web.AppRunner(provider.app(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    provider.issuer = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield provider
    finally:
        if provider.wait is not None:
            provider.wait.set()
        await runner.cleanup()
