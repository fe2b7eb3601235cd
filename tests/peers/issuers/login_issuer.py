"""An issuer of agents' logins on loopback: OpenAI's device flow, RFC 8628, PKCE and refreshes.

Every code and refresh token can be used once. One that is used again revokes the whole login, as
RFC 9700 §4.14.2 says. It has no line of the adapters, and the real Codex logs in at it.
"""

import asyncio
import base64
import hashlib
import json
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from aiohttp import web

ACCOUNT = "acct-7f3a"
CLIENT = "test-client"


@dataclass
class Waiting:
    """A login that waits for its person; `state` is `pending`, `confirmed`, `denied`, `expired` or
    `used`."""

    user_code: str
    challenge: str = ""
    verifier: str = ""
    redirect: str = ""
    state: str = "pending"
    family: str = ""


@dataclass
class Issuer:
    """What an issuer knows. `life` is that of access tokens, in seconds, and `says_life` whether
    answers name it. Each next request for tokens is answered with one of `statuses` while there are
    any, `error` and `retry_after`; 0 is a connection that breaks after the request was carried
    out. With `grace` a refresh
    token that comes again is answered, until the newer one was used. While `silent`, refreshes are
    carried out, which sets `carried_out`, and not answered before `released`."""

    url: str = ""
    life: float = 3600
    says_life: bool = True
    interval: object = "5"
    statuses: list[int] = field(default_factory=list)
    error: object = "unavailable"
    retry_after: str = "1"
    devices: dict[str, Waiting] = field(default_factory=dict)
    codes: dict[str, Waiting] = field(default_factory=dict)
    refreshes: dict[str, tuple[str, bool]] = field(default_factory=dict)
    revoked: set[str] = field(default_factory=set)
    issued: list[str] = field(default_factory=list)
    alive: dict[str, tuple[str, float]] = field(default_factory=dict)
    reused: int = 0
    traded: int = 0
    grace: bool = False
    silent: bool = False
    carried_out: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    newer: dict[str, str] = field(default_factory=dict)

    def confirm(self, user_code: str, state: str = "confirmed") -> None:
        """Do what a person does on the page of the code."""
        for one in self.devices.values():
            if one.user_code == user_code:
                one.state = state

    def confirm_page(self, url: str, error: str = "") -> str:
        """Do what a person does in a browser; return where it is sent back to."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        if error:
            return f"{asked['redirect_uri']}?{urlencode({'error': error, 'state': asked['state']})}"
        assert asked["code_challenge_method"] == "S256" and asked["response_type"] == "code"
        code = f"code-{secrets.token_hex(16)}"
        self.codes[code] = Waiting(
            "", asked["code_challenge"], redirect=asked["redirect_uri"], family=code
        )
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def works(self, access: str) -> bool:
        """Answer as the vendor does who is called with this access token."""
        family, ends = self.alive.get(access, ("", 0.0))
        return bool(family) and family not in self.revoked and time.monotonic() < ends

    def tokens(self, family: str) -> dict[str, Any]:
        """Return the next tokens of a login."""
        self.traded += 1
        account = {"chatgpt_account_id": ACCOUNT, "chatgpt_plan_type": "pro"}
        claims = {"sub": "ada", "email": "ada@example.com", "https://api.openai.com/auth": account}
        refresh = f"rt-{secrets.token_hex(24)}"
        self.refreshes[refresh] = (family, False)
        access = unsigned({**claims, "jti": secrets.token_hex(16), "exp": self._ends()})
        self.issued += [refresh, access]
        self.alive[access] = (family, time.monotonic() + self.life)
        answer = {
            "id_token": unsigned({**claims, "exp": self._ends()}),
            "access_token": access,
            "refresh_token": refresh,
        }
        return {**answer, "expires_in": self.life} if self.says_life else answer

    def _ends(self) -> int:
        return int(time.time() + self.life)

    async def usercode(self, request: web.Request) -> web.Response:
        """Begin OpenAI's flow."""
        assert (await request.json())["client_id"]
        verifier = secrets.token_urlsafe(48)
        waiting = Waiting(
            f"{secrets.token_hex(2)}-{secrets.token_hex(2)}".upper(), verifier=verifier
        )
        waiting.challenge = challenge(verifier)
        device = secrets.token_hex(16)
        self.devices[device] = waiting
        named = {"device_auth_id": device, "user_code": waiting.user_code}
        return web.json_response({**named, "interval": self.interval})

    async def poll_openai(self, request: web.Request) -> web.Response:
        """Answer a poll of OpenAI's flow."""
        asked = await request.json()
        waiting = self.devices.get(asked["device_auth_id"])
        if waiting is None or asked["user_code"] != waiting.user_code:
            return web.json_response({}, status=404)
        if waiting.state == "pending":
            return web.json_response({}, status=403)
        if waiting.state != "confirmed":
            return web.json_response({}, status=400)
        waiting.state = "used"
        code = f"code-{secrets.token_hex(16)}"
        waiting.redirect, waiting.family = f"{self.url}/deviceauth/callback", code
        self.codes[code] = waiting
        return web.json_response(
            {
                "authorization_code": code,
                "code_challenge": waiting.challenge,
                "code_verifier": waiting.verifier,
            }
        )

    async def device(self, request: web.Request) -> web.Response:
        """Begin the flow of RFC 8628."""
        assert (await request.post())["client_id"]
        device, user_code = secrets.token_hex(16), secrets.token_hex(4).upper()
        self.devices[device] = Waiting(user_code, family=device)
        return web.json_response(
            {
                "device_code": device,
                "user_code": user_code,
                "verification_uri": f"{self.url}/device",
                "expires_in": 600,
                "interval": self.interval,
            }
        )

    async def token(self, request: web.Request) -> web.Response:
        """Answer a request for tokens."""
        if request.content_type == "application/json":
            asked = await request.json()
        else:
            asked = dict(await request.post())
        assert asked["client_id"]
        status = self.statuses.pop(0) if self.statuses else None
        if status:
            told = {"Retry-After": self.retry_after}
            return web.json_response({"error": self.error}, status=status, headers=told)
        answer = self._granted(asked)
        if self.silent and asked["grant_type"] == "refresh_token":
            self.carried_out.set()
            await self.released.wait()
        if status == 0:
            assert request.transport is not None
            request.transport.abort()
        return answer

    def _granted(self, asked: dict[str, Any]) -> web.Response:
        grant = asked["grant_type"]
        if grant == "authorization_code":
            return self._by_code(asked)
        if grant == "refresh_token":
            return self._by_refresh(asked["refresh_token"])
        if grant == "urn:ietf:params:oauth:grant-type:device_code":
            return self._by_device(asked["device_code"])
        return _error("unsupported_grant_type")

    def _by_code(self, asked: dict[str, Any]) -> web.Response:
        waiting = self.codes.get(asked["code"])
        if waiting is None:
            return _error("invalid_grant")
        if waiting.state == "traded":
            self.reused += 1
            self.revoked.add(waiting.family)
            return _error("invalid_grant")
        waiting.state = "traded"
        good = challenge(asked["code_verifier"]) == waiting.challenge
        if not good or asked["redirect_uri"] != waiting.redirect:
            return _error("invalid_grant")
        return web.json_response(self.tokens(waiting.family))

    def _by_refresh(self, token: str) -> web.Response:
        family, used = self.refreshes.get(token, ("", True))
        if family and used:
            self.reused += 1
            if not self.grace or self.refreshes[self.newer[token]][1]:
                self.revoked.add(family)
        if not family or family in self.revoked:
            return _error("invalid_grant")
        self.refreshes[token] = (family, True)
        answer = self.tokens(family)
        self.newer[token] = answer["refresh_token"]
        return web.json_response(answer)

    def _by_device(self, device: str) -> web.Response:
        waiting = self.devices.get(device)
        if waiting is None or waiting.state == "used":
            return _error("invalid_grant")
        words = {
            "pending": "authorization_pending",
            "hurried": "slow_down",
            "denied": "access_denied",
            "expired": "expired_token",
        }
        if waiting.state in words:
            return _error(words[waiting.state])
        waiting.state = "used"
        return web.json_response(self.tokens(waiting.family))

    async def revoke(self, request: web.Request) -> web.Response:
        """End a login (RFC 7009)."""
        if request.content_type == "application/json":
            asked = await request.json()
        else:
            asked = dict(await request.post())
        family, _ = self.refreshes.get(asked["token"], ("", True))
        self.revoked.add(family)
        return web.json_response({})


def challenge(verifier: str) -> str:
    """Return the challenge `S256` of a verifier."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def unsigned(claims: dict[str, Any]) -> str:
    """Return a JSON Web Token whose signature nobody checks."""
    parts = (json.dumps(one).encode() for one in ({"alg": "none"}, claims))
    return ".".join((*(base64.urlsafe_b64encode(p).decode().rstrip("=") for p in parts), "c2ln"))


def _error(word: str) -> web.Response:
    return web.json_response({"error": word}, status=400)


@asynccontextmanager
async def login_issuer(**knobs: Any) -> AsyncIterator[Issuer]:
    """Serve an issuer."""
    issuer = Issuer(**knobs)
    app = web.Application()
    app.router.add_post("/api/accounts/deviceauth/usercode", issuer.usercode)
    app.router.add_post("/api/accounts/deviceauth/token", issuer.poll_openai)
    app.router.add_post("/oauth/device/code", issuer.device)
    app.router.add_post("/oauth/token", issuer.token)
    app.router.add_post("/oauth/revoke", issuer.revoke)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        issuer.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield issuer
    finally:
        await runner.cleanup()
