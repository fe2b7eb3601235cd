"""Logins of agents of the scripted server: the words of `docs/program/agent-logins.md`."""

from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from .scripted_workers import now, problem

CODE = "ABCD-EFGH"
ISSUERS = {"codex": "https://auth.example"}
DEVICE, KEY = 1, 2


@dataclass(eq=False)
class ScriptedLogins:
    """See the file's head. Tests read and change its members as they like."""

    logins: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: The bodies that began a login.
    begun: list[dict[str, Any]] = field(default_factory=list)
    #: The addresses that were pasted.
    pasted: list[str] = field(default_factory=list)
    #: While set, the list fails.
    broken: bool = False

    def add(self, agent: str = "codex", *, method: int = DEVICE, **more: Any) -> dict[str, Any]:
        """A login as the API shows it: one by a key is ready, others wait for their person."""
        waits = method != KEY
        name = f"alg_{len(self.logins) + 1}"
        shown: dict[str, Any] = {
            "id": name,
            "agent": agent,
            "method": method,
            "status": "pending" if waits else "ready",
            "reason": "",
            "in_use": False,
            "token_ref": f"sec_{len(self.logins) + 1}",
            "scopes": [],
            "page": f"{ISSUERS.get(agent, 'https://id.example')}/device" if waits else "",
            "user_code": CODE if method == DEVICE else "",
            "created_at": now(),
            "expires_at": None,
            "provider": "",
            "exposed_to": [],
            **more,
        }
        self.logins[name] = shown
        return shown

    def routes(self) -> list[web.RouteDef]:
        """What the page asks about logins of agents."""
        one = "/v1/agent-logins/{login}"
        return [
            web.get("/v1/agent-logins", self._list),
            web.post("/v1/agent-logins", self._begin),
            web.post(one + "/redirect", self._paste),
            web.put(one + "/use", self._turn),
            web.put(one + "/exposure", self._expose),
            web.delete(one, self._end),
            web.get("/v1/secrets", self._secrets),
        ]

    async def _list(self, _: web.Request) -> web.StreamResponse:
        if self.broken:
            return problem(503, "unavailable", "The database does not answer: try again.")
        return web.json_response({"logins": [*self.logins.values()], "next": None})

    async def _secrets(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"secrets": [], "next": None})

    async def _begin(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.begun.append(body)
        if body["method"] != KEY and body["agent"] not in ISSUERS:
            words = f"There is no issuer of logins for '{body['agent']}' here."
            return problem(404, "no_issuer", words)
        if body["method"] == KEY and " " in body["api_key"]:
            return problem(422, "invalid", "A key has no blanks.", field="api_key")
        return web.json_response(self.add(body["agent"], method=body["method"]), status=201)

    async def _paste(self, request: web.Request) -> web.StreamResponse:
        self.pasted.append((await request.json())["redirect"])
        if "code=" not in self.pasted[-1]:
            words = "That is not the address that this login ended at."
            return problem(422, "invalid", words, field="redirect")
        shown = self._one(request)
        shown |= {"status": "ready", "scopes": ["openid"]}
        return web.json_response(shown)

    async def _turn(self, request: web.Request) -> web.StreamResponse:
        shown = self._one(request)
        shown["in_use"] = (await request.json())["in_use"]
        return web.json_response(shown)

    async def _expose(self, request: web.Request) -> web.StreamResponse:
        shown = self._one(request)
        shown["exposed_to"] = (await request.json())["exposed_to"]
        return web.json_response(shown)

    async def _end(self, request: web.Request) -> web.StreamResponse:
        shown = self._one(request)
        shown |= {"status": "revoked", "in_use": False}
        return web.json_response(shown)

    def _one(self, request: web.Request) -> dict[str, Any]:
        return self.logins[request.match_info["login"]]
