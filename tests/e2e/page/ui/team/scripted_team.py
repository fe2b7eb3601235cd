"""The team of the scripted server: realms, an organization, members, invitations, tokens, quotas.

A server has none unless a test calls `found`: then it answers as one person's home does.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from aiohttp import web

from .scripted_admin import ScriptedAdmin

if TYPE_CHECKING:
    from tests.e2e.page.ui.scripted import ScriptedServer

SECRET = "secret-of-an-invitation"
LIMITS = ("sandboxes", "concurrentSessions", "cpu", "memory", "storage")
USED = {"sandboxes": 3, "concurrentSessions": 5, "cpu": "2", "memory": "6Gi", "storage": "20Gi"}
CODE = "BCDF-GHJK"
PAT = "atoll_pat_" + "0Q4v" * 12
ACME = "personal"
#: The caller, and others of the team.
ANN, BOB, ROBOT = "person", "p_bob", "svc_deploy"


def stamp(**later: float) -> str:
    """RFC 3339 in UTC, so much later than now."""
    return (datetime.now(UTC) + timedelta(**later)).isoformat().replace("+00:00", "Z")


SESSIONS: tuple[dict[str, Any], ...] = (
    {
        "id": "se_1",
        "agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0 Safari/537.36",
        "address": "192.0.2.7",
        "created_at": stamp(days=-2),
        "last_seen_at": stamp(),
        "current": True,
    },
    {
        "id": "se_2",
        "agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0) Version/19.0 Safari/604.1",
        "address": "198.51.100.23",
        "created_at": stamp(days=-9),
        "last_seen_at": stamp(hours=-5),
        "current": False,
    },
)


def organization(identity: str, name: str, *, role: str, made: bool = True) -> dict[str, Any]:
    """An organization as the API shows it to a member of this role."""
    return {
        "organization_id": identity,
        "slug": name.lower(),
        "name": name,
        "created_at": stamp(days=-40) if made else None,
        "role": role,
    }


def refusal(status: int, detail: str, *, where: str | None = None) -> web.Response:
    """An RFC 9457 problem document."""
    body = {"title": "refused", "status": status, "code": "refused", "detail": detail}
    if where is not None:
        body["field"] = where
    return web.json_response(body, status=status, content_type="application/problem+json")


@dataclass
class ScriptedTeam:
    """See the file's head. Tests read and change its members as they like."""

    realms: list[dict[str, str]] = field(default_factory=list)
    organizations: list[dict[str, Any]] = field(
        default_factory=lambda: [organization(ACME, "Personal", role="owner", made=False)]
    )
    members: list[dict[str, Any]] = field(default_factory=list)
    me: dict[str, Any] = field(default_factory=lambda: {"id": ANN, "org_id": ACME, "kind": "adm"})
    #: What the invitation of `SECRET` offers.
    offered: dict[str, Any] | None = None
    #: Where the page goes after the next login.
    next: str = ""
    #: The query of each login that began at a provider.
    begun: list[dict[str, str]] = field(default_factory=list)
    sessions: list[dict[str, Any]] = field(default_factory=lambda: [dict(one) for one in SESSIONS])
    tokens: list[dict[str, Any]] = field(default_factory=list)
    ssh_keys: list[dict[str, Any]] = field(default_factory=list)
    invitations: list[dict[str, Any]] = field(default_factory=list)
    waiting: list[dict[str, Any]] = field(default_factory=list)
    waiting_boards: list[dict[str, Any]] = field(default_factory=list)
    quota: dict[str, Any] = field(default_factory=lambda: dict.fromkeys(LIMITS))
    #: The sandboxes of the organization that a switch leads to.
    elsewhere: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: What its administrators read.
    admin: ScriptedAdmin = field(default_factory=ScriptedAdmin)
    #: What was asked of the routes, as method, path and body.
    asked: list[tuple[str, str, Any]] = field(default_factory=list)

    def use_oidc(self, *names: str) -> None:
        """People log in at providers of these names."""
        self.realms = [
            {"realm": name.lower(), "name": name, "login_path": f"/auth/oidc/{name.lower()}/login"}
            for name in names
        ]

    def found(self, role: str = "owner") -> None:
        """Makes an organization of which the caller is a member of this role."""
        self.me |= {"name": "Ann Ray", "roles": [role]}
        self.organizations = [organization(ACME, "Acme", role=role)]
        self.add(ANN, "Ann Ray", role=role)

    def add(self, member: str, name: str, *, role: str = "member", **more: Any) -> None:
        """A member of the organization."""
        self.members.append(
            {
                "member_id": member,
                "kind": "adm",
                "name": name,
                "email": "",
                "role": role,
                "groups": [],
                "groups_claimed": False,
                "since": stamp(days=-3),
                **more,
            }
        )

    def whoami(self) -> dict[str, Any]:
        """The caller."""
        return self.me

    def routes(self, server: ScriptedServer) -> list[web.RouteDef]:
        """Every path of a team."""
        self.server = server
        return [
            web.get("/auth/realms", self._realms),
            web.get("/auth/oidc/{realm}/login", self._begin),
            web.patch("/v1/me", self._rename),
            web.put("/v1/me/organization", self._choose),
            web.get("/v1/me/sessions", self._sessions),
            web.get("/v1/me/login", self._own_login),
            web.post("/v1/me/login/look", self._look_at_link),
            web.delete("/v1/me/sessions/{session}", self._end_session),
            web.post("/auth/logout/everywhere", self._logout_everywhere),
            web.get("/auth/cli/{code}", self._waiting_cli),
            web.post("/auth/cli/{code}/confirm", self._waiting_cli),
            web.get("/v1/tokens", self._tokens),
            web.get("/v1/ssh/keys", self._ssh_keys),
            web.post("/v1/ssh/keys", self._add_ssh_key),
            web.delete("/v1/ssh/keys/{key}", self._remove_ssh_key),
            web.post("/auth/pat", self._make_token),
            web.delete("/v1/tokens/{token}", self._revoke_token),
            web.post("/v1/invitations/look", self._look),
            web.post("/v1/invitations/accept", self._accept),
            web.get("/v1/organizations", self._organizations),
            web.get("/v1/organizations/{org}/tokens", self._team_tokens),
            web.delete("/v1/organizations/{org}/tokens/{token}", self._revoke_token),
            web.get("/v1/organizations/{org}/members", self._members),
            web.patch("/v1/organizations/{org}/members/{member}", self._change_member),
            web.delete("/v1/organizations/{org}/members/{member}", self._remove_member),
            web.get("/v1/organizations/{org}/invitations", self._invitations),
            web.post("/v1/organizations/{org}/invitations", self._invite),
            web.delete("/v1/organizations/{org}/invitations/{one}", self._uninvite),
            web.post("/v1/organizations/{org}/service-accounts", self._add_account),
            web.get("/v1/organizations/{org}/waiting-sandboxes", self._waiting),
            web.get("/v1/organizations/{org}/waiting-dashboards", self._waiting_boards),
            web.post("/v1/dashboards/{board}/owner", self._give_board),
            web.post("/v1/sandboxes/{id}/owner", self._give),
            web.get("/v1/quota", self._own_quotas),
            web.get("/v1/organizations/{org}/quotas", self._quotas),
            web.put("/v1/organizations/{org}/quotas", self._set_quota),
            *self.admin.routes(),
        ]

    async def _realms(self, _: web.Request) -> web.StreamResponse:
        mode = "oidc" if self.realms else "local"
        return web.json_response({"mode": mode, "realms": self.realms})

    async def _begin(self, request: web.Request) -> web.StreamResponse:
        """The provider lets everybody in, at once."""
        self.begun.append({"realm": request.match_info["realm"], **request.query})
        ticket = secrets.token_urlsafe(8)
        self.server.tickets.add(ticket)
        self.next = request.query.get("next", "").removeprefix("#/")
        raise web.HTTPFound(f"/#login={ticket}")

    async def _rename(self, request: web.Request) -> web.StreamResponse:
        self.me["name"] = (await self._note(request))["name"]
        return web.json_response(self.me)

    async def _choose(self, request: web.Request) -> web.StreamResponse:
        self.me["org_id"] = (await self._note(request))["organization"]
        server = self.server
        server.sandboxes, self.elsewhere = self.elsewhere, server.sandboxes
        return web.Response(status=204)

    async def _sessions(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"sessions": self.sessions})

    async def _end_session(self, request: web.Request) -> web.StreamResponse:
        await self._note(request)
        gone = request.match_info["session"]
        self.sessions = [one for one in self.sessions if one["id"] != gone]
        return web.Response(status=204)

    async def _logout_everywhere(self, request: web.Request) -> web.StreamResponse:
        await self._note(request)
        self.server.cookies.clear()
        return web.Response(status=204)

    async def _tokens(self, request: web.Request) -> web.StreamResponse:
        whose = request.query.get("account")
        shown = [one for one in self.tokens if one["account"] == whose]
        return web.json_response({"tokens": shown})

    async def _team_tokens(self, _: web.Request) -> web.StreamResponse:
        owned = [{**one, "owner": one.get("owner", "person")} for one in self.tokens]
        return web.json_response({"tokens": owned, "next": None})

    async def _make_token(self, request: web.Request) -> web.StreamResponse:
        body = await self._note(request)
        if body["ttl"] == "365d":
            return refusal(422, "a token lives at most 90 days here", where="ttl")
        made = {
            "id": f"tok_{len(self.tokens)}",
            "name": body["name"],
            "capabilities": body.get("capabilities") or ["sandbox.read", "sandbox.manage"],
            "sandbox_id": None,
            "parent": None,
            "created_at": stamp(),
            "expires_at": stamp(days=30),
            "used_at": None,
            "account": body.get("account"),
        }
        self.tokens.append(made)
        return web.json_response({**made, "token": PAT}, status=201)

    async def _revoke_token(self, request: web.Request) -> web.StreamResponse:
        await self._note(request)
        gone = request.match_info["token"]
        self.tokens = [one for one in self.tokens if one["id"] != gone]
        return web.Response(status=204)

    async def _ssh_keys(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"keys": self.ssh_keys})

    async def _add_ssh_key(self, request: web.Request) -> web.StreamResponse:
        line = (await self._note(request))["key"]
        if not line.startswith("ssh-ed25519 "):
            return refusal(422, "This is no public key of OpenSSH.", where="key")
        added = {
            "key_id": f"key_{len(self.ssh_keys)}",
            "name": line.split(" ", 2)[2],
            "kind": "ssh-ed25519",
            "fingerprint": "SHA256:qVw7mPz0bTn1pH2zT0l8gk3kqU9zYc4n5hGd7sJf1aQ",
            "added_at": stamp(),
            "used_at": None,
        }
        self.ssh_keys.append(added)
        return web.json_response(added, status=201)

    async def _remove_ssh_key(self, request: web.Request) -> web.StreamResponse:
        await self._note(request)
        gone = request.match_info["key"]
        self.ssh_keys = [one for one in self.ssh_keys if one["key_id"] != gone]
        return web.Response(status=204)

    async def _own_login(self, _: web.Request) -> web.Response:
        return web.json_response({"linked": False, "name": "", "email": ""})

    async def _look_at_link(self, _: web.Request) -> web.Response:
        return web.json_response({"person": "Ann", "name": "Ann Ray", "email": "ann@example.org"})

    async def _look(self, request: web.Request) -> web.StreamResponse:
        await self._note(request)
        if self.offered is None:
            return refusal(404, "This invitation is over or was used; ask for a new one.")
        return web.json_response(self.offered)

    async def _accept(self, request: web.Request) -> web.StreamResponse:
        body = await self._note(request)
        if self.offered is None or body["secret"] != SECRET:
            return refusal(404, "This invitation is over or was used; ask for a new one.")
        role, self.offered = self.offered["role"], None
        self.found(role)
        self.add("p_ada", "Ada Lovelace", role="owner")
        return web.json_response(self.organizations[0])

    async def _note(self, request: web.Request) -> Any:
        """The body of a request, which is kept."""
        body = await request.json() if request.can_read_body else None
        self.asked.append((request.method, request.path, body))
        return body

    async def _organizations(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"organizations": self.organizations})

    async def _members(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"members": self.members})

    async def _change_member(self, request: web.Request) -> web.StreamResponse:
        body = await self._note(request)
        found = next(o for o in self.members if o["member_id"] == request.match_info["member"])
        found |= body
        await self.server.tell("org:personal", "member.changed", member=found["member_id"])
        return web.json_response(found)

    async def _remove_member(self, request: web.Request) -> web.StreamResponse:
        await self._note(request)
        gone = request.match_info["member"]
        self.waiting_boards = [
            {
                "id": "dsh_left", "name": "Bob's plan", "owner": gone, "items": 1,
                "updated_at": "2026-01-01T00:00:00Z", "removed_at": "2999-01-01T00:00:00Z",
            }
        ]  # fmt: skip
        self.members = [one for one in self.members if one["member_id"] != gone]
        for identity, sandbox in self.server.sandboxes.items():
            if sandbox["owner"] == gone:
                self.waiting.append({**sandbox, "sandbox_id": identity, "state": "stopped"})
        return web.Response(status=204)

    async def _invitations(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"invitations": self.invitations})

    async def _invite(self, request: web.Request) -> web.StreamResponse:
        body = await self._note(request)
        made = {
            "invitation_id": f"in_{len(self.invitations)}",
            "invited_by": ANN,
            "created_at": stamp(),
            "expires_at": stamp(days=6, hours=23),
            **body,
        }
        self.invitations.append(made)
        await self.server.tell("org:personal", "member.invited")
        link = f"{self.server.url}#join={SECRET}"
        told = {"secret": SECRET, "url": link, "local_only": True}
        return web.json_response({**made, **told}, status=201)

    async def _uninvite(self, request: web.Request) -> web.StreamResponse:
        await self._note(request)
        gone = request.match_info["one"]
        self.invitations = [one for one in self.invitations if one["invitation_id"] != gone]
        return web.Response(status=204)

    async def _waiting_cli(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.method, request.path, None))
        if request.match_info["code"] != CODE:
            return refusal(404, "No command line waits with this code.")
        return web.json_response(
            {
                "code": CODE,
                "machine": "lab-7",
                "address": "192.0.2.9",
                "expires_at": stamp(minutes=9),
            }
        )

    async def _add_account(self, request: web.Request) -> web.StreamResponse:
        body = await self._note(request)
        self.add(ROBOT, body["name"], role=body["role"], kind="atm")
        return web.json_response(self.members[-1], status=201)

    async def _waiting(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"sandboxes": self.waiting})

    async def _waiting_boards(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"dashboards": self.waiting_boards})

    async def _give_board(self, request: web.Request) -> web.StreamResponse:
        await self._note(request)
        gone = request.match_info["board"]
        self.waiting_boards = [one for one in self.waiting_boards if one["id"] != gone]
        return web.Response(status=204)

    async def _give(self, request: web.Request) -> web.StreamResponse:
        body = await self._note(request)
        identity = request.match_info["id"]
        self.waiting = [one for one in self.waiting if one["sandbox_id"] != identity]
        self.server.sandboxes[identity]["owner"] = body["member"]
        await self.server.tell(f"sandbox:{identity}", "sandbox.given")
        return web.json_response(self.server.sandboxes[identity])

    async def _own_quotas(self, _: web.Request) -> web.StreamResponse:
        mine = {"member": self.me["id"], "quota": dict.fromkeys(LIMITS), "used": USED}
        ours = {"member": None, "quota": self.quota, "used": USED}
        return web.json_response({"quotas": [ours, mine]})

    async def _quotas(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"quotas": [{"member": None, "quota": self.quota, "used": USED}]})

    async def _set_quota(self, request: web.Request) -> web.StreamResponse:
        self.quota = dict.fromkeys(LIMITS) | await self._note(request)
        return web.json_response({"member": None, "quota": self.quota, "used": USED})
