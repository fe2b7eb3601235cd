"""A scripted control plane: the HTTP API's words without any machinery behind them.

It serves the built page and speaks `docs/program/api.md` well enough for the browser tests to
drive every part of it. Terminals are `scripted_terminal.ScriptedTerminal`; nothing here
starts a process.
"""

import asyncio
import json
import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import WSCloseCode, web
from msgspec import ValidationError, convert, to_builtins

from atoll.domain.duration import parse_duration
from atoll.wire.api.sandboxes.views import SandboxView
from tests.places import ROOT

from .boards.scripted_boards import ScriptedBoards
from .scripted_agent import ADDED, ScriptedAgent, read_checked
from .scripted_terminal import HEARTBEAT_SECONDS, ScriptedTerminal
from .scripted_threads import ScriptedThreads
from .team.scripted_team import ScriptedTeam
from .workers.scripted_logins import ScriptedLogins
from .workers.scripted_workers import ScriptedWorkers

STATIC = ROOT / "src/atoll/surfaces/http/static"
TICKET = "ticket-that-works-once"
KEY = "key-of-"
OPEN = {"/", "/auth/login", "/auth/realms", "/sw.js"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
PROFILES = [
    ("shell", None, "A plain shell in a fresh workspace."),
    ("python", None, "Python 3 with pip and venv at hand."),
    ("node", None, "Node.js with npm; caches are kept."),
    ("claude-code", "claude", "Claude Code, its model calls through the broker."),
    ("codex", "codex", "Codex CLI, its model calls through the broker."),
    ("opencode", "opencode", "OpenCode with the provider of your choice."),
]


def at(moment: datetime) -> str:
    """RFC 3339 in UTC."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def file_of(name: str, *, headers: dict[str, str] | None = None) -> web.Response:
    """A file of the built page, whole: one sent in pieces stays open when its reader goes."""
    file = STATIC / name
    if not file.is_file():
        raise web.HTTPNotFound
    kind = mimetypes.guess_type(name)[0]
    return web.Response(body=file.read_bytes(), content_type=kind, headers=headers)


def problem(status: int, code: str, detail: str, *, where: str | None = None) -> web.Response:
    """An RFC 9457 problem document."""
    body = {"type": "about:blank", "title": code, "status": status, "code": code, "detail": detail}
    if where is not None:
        body["field"] = where
    return web.json_response(body, status=status, content_type="application/problem+json")


ASIDE = {"held", "unpulled"}
"""What a sandbox's row has beside the API's fields: answers of other routes."""


def row_of(sandbox: dict[str, Any]) -> dict[str, Any]:
    """A sandbox as the API answers it. Raises `ValidationError` for a row that the API never
    answers: the page may break on one that lacks a field, and no test is to wait for that."""
    row = {name: value for name, value in sandbox.items() if name not in ASIDE}
    if to_builtins(convert(row, SandboxView)) != row:
        raise ValidationError("a sandbox has no such fields")
    return row


UNKNOWN: dict[str, Any] = {
    **dict.fromkeys(("on", "question", "card", "answer", "reason"), ""),
    **dict.fromkeys(("commits", "plus", "minus")),
    **{"options": [], "words": False, "turns": 0},
}

REPOSITORY: dict[str, Any] = {
    "repo_url": "",
    "key": None,
    "branch": "",
    "from_branch": None,
    "path": "/workspace",
    "sparse": [],
    "submodules": [],
    "lfs_files": 0,
}

WORK: dict[str, Any] = {
    **{"state": "to_review", "mark": "m" * 64, "commits": 1, "plus": 3, "minus": 2},
    "uncommitted": 0,
    **dict.fromkeys(("conflict", "merge", "pull", "reviewed_at")),
}
"""The work in a sandbox, as it waits for a review."""

METADATA: dict[str, Any] = {
    **dict.fromkeys(("repo_url", "branch", "from_branch")),
    **{"network_mode": "limited", "sync_ssh": 0, "ssh_mode": "gateway"},
    **{"mounts": [], "copies": []},
}

NO_PROJECT: dict[str, Any] = {
    "repository": "k",
    "commit": "c" * 40,
    "file": "",
    "digest": "d" * 64,
    "decision": None,
    "undecided": False,
    "proposals": [],
    "changes": {"added": [], "removed": []},
    "agent": None,
    "profile": None,
    "ignored": [],
    "problem": None,
}


@dataclass
class ScriptedServer:
    """What the page talks to. Tests read and change its members as they like."""

    url: str = ""
    sandboxes: dict[str, dict[str, Any]] = field(default_factory=dict)
    terminals: dict[str, dict[str, ScriptedTerminal]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    logs: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    created: list[dict[str, Any]] = field(default_factory=list)
    acts: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    tickets: set[str] = field(default_factory=lambda: {TICKET})
    cookies: set[str] = field(default_factory=set)
    agent: ScriptedAgent = field(default_factory=ScriptedAgent)
    #: Who followed the events, also those who left.
    followers: list[web.Request] = field(default_factory=list)
    #: Of the agents that could work, those that do.
    ready_agents: set[str] = field(
        default_factory=lambda: {"claude-code", "codex", "opencode", ADDED}
    )
    #: Terminals that were ever opened: an id is never given twice.
    opened: int = 0
    #: Who logs in how, and their organization; one person by a link, unless a test says so.
    team: ScriptedTeam = field(default_factory=ScriptedTeam)
    boards: ScriptedBoards = field(init=False)
    review: ScriptedThreads = field(init=False)
    workers: ScriptedWorkers = field(default_factory=ScriptedWorkers)
    logins: ScriptedLogins = field(default_factory=ScriptedLogins)
    #: The items of the inbox that were answered, and how.
    answers: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    #: Answers of the next create, instead of making a sandbox.
    create_problem: tuple[int, str, str, str | None] | None = None
    #: What a repository's own file proposes.
    project: dict[str, Any] = field(default_factory=lambda: dict(NO_PROJECT))
    decisions: list[dict[str, Any]] = field(default_factory=list)
    #: Why profiles cannot be used here, by their short names.
    obstacles: dict[str, str] = field(default_factory=dict)
    #: Rows that tests wrote and the API would never answer.
    faults: list[str] = field(default_factory=list)
    #: While set, nobody can attach: the handshake is refused.
    refuse_attach: bool = False
    #: How often somebody was refused so.
    refused: int = 0
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    def __post_init__(self) -> None:
        self.boards = ScriptedBoards(self)
        self.review = ScriptedThreads(self)

    def add_sandbox(self, name: str, *, state: str = "active", **more: Any) -> str:
        """A sandbox as the API shows it; returns its id."""
        sandbox_id = f"sb_{len(self.sandboxes) + 1:04}"
        now = datetime.now(UTC)
        self.sandboxes[sandbox_id] = {
            "sandbox_id": sandbox_id,
            "name": name,
            "state": state,
            "generation": 1,
            "reason": None,
            "profile": {"id": "profile.shell", "version": "1.0.0"},
            "extension": "ext.namespaces",
            "leftovers": [],
            "parent": None,
            "host": "host_local",
            "region": "",
            "route": None,
            "agent": None,
            "scope": "session",
            "network_mode": "limited",
            "isolation": {
                "level": "container",
                "mechanism": "bubblewrap",
                "degraded": [],
                "weak": False,
                "host_uid": 1_900_000_001,
                "init": "c",
            },
            "owner": "person",
            "created_at": at(now - timedelta(minutes=3 * len(self.sandboxes))),
            "ready_at": at(now),
            "expires_at": at(now + timedelta(hours=3, minutes=42, seconds=30)),
            "max_expires_at": at(now + timedelta(hours=23)),
            "retained_until": None,
            "updated_at": at(now),
            "last_active_at": None,
            "last_used_at": None,
            "kept_at": None,
            "ends_soon": False,
            "idle_reap_seconds": None,
            "idle_stop_seconds": None,
            "idle_action": "sleep",
            "wake": "access",
            "asleep": False,
            "asleep_since": None,
            "agent_catalogue": None,
            "agents_inside": None,
            "workspace": {"mode": "remote-canonical", "access": "rw"},
            "softlock": "owner",
            "inputs": {"repo_ref": None, "compose_bundle_ref": None, "compose_bundle": None},
            "setup_metadata": {
                "instructions_ref": None,
                "secret_refs": [],
                "instructions": None,
                "instructed": False,
            },
            "consumer": dict.fromkeys(("harness", "session_id", "run_id", "job_id"))
            | {"actor": "adm"},
            "task": None,
            "archived_at": None,
            "work": None,
            "project": None,
            "reachability": {
                "runtime": "up",
                "ssh": None,
                "tunnel": None,
                "identity": None,
                "poll_url": "",
                "events_url": "",
                "lifecycle_webhook": None,
            },
            "metadata": dict(METADATA),
            "cwd": "/workspace",
            "exposed_secrets": [],
            "org_id": "personal",
            "agents": [],
            "poll_url": f"/v1/sandboxes/{sandbox_id}",
            **more,
            "repos": [{**REPOSITORY, **repo} for repo in more.get("repos", [])],
        }
        self.terminals[sandbox_id] = {}
        self.logs[sandbox_id] = []
        return sandbox_id

    def add_terminal(self, sandbox_id: str, *, name: str = "bash", **more: Any) -> ScriptedTerminal:
        """A running terminal with the scripted shell in it."""
        self.opened += 1
        terminal = ScriptedTerminal(f"t_{self.opened:04}", name, **more)
        self.terminals[sandbox_id][terminal.id] = terminal
        return terminal

    async def tell(self, stream: str, event_type: str, **payload: Any) -> None:
        """Appends an event and wakes whoever follows."""
        async with self._news:
            position = len(self.events) + 1
            self.events.append(
                {
                    "id": f"ev_{position}",
                    "position": position,
                    "stream": stream,
                    "seq": position,
                    "event_type": event_type,
                    "event_version": 1,
                    "at": at(datetime.now(UTC)),
                    "org_id": "personal",
                    "actor": {"kind": "adm", "id": "person"},
                    "reason": None,
                    "payload": payload,
                }
            )
            self._news.notify_all()

    async def report(self, sandbox_id: str, agent: str, status: str, **more: Any) -> None:
        """An agent's status changes, as its runtime reports it."""
        about = {"id": agent, "agent": "codex", "mode": more.pop("mode", "tui")}
        told = {**UNKNOWN, "status": status, "since": at(datetime.now(UTC)), **more}
        others = [one for one in self.sandboxes[sandbox_id]["agents"] if one["id"] != agent]
        self.sandboxes[sandbox_id]["agents"] = [*others, {**about, "status": told}]
        await self.tell(f"sandbox:{sandbox_id}", "agent.status", **about, **told)

    async def become(self, sandbox_id: str, state: str, **more: Any) -> None:
        """The work in a sandbox comes to a state, and says so."""
        before = self.sandboxes[sandbox_id]["work"] or {}
        self.sandboxes[sandbox_id]["work"] = {**WORK, **before, "state": state, **more}
        told = {"work_state": state, "before": before.get("state")}
        await self.tell(f"sandbox:{sandbox_id}", "work.changed", **told)

    async def enter(self, sandbox_id: str, state: str, **more: Any) -> None:
        """A sandbox changes state, and says so."""
        self.sandboxes[sandbox_id].update(state=state, **more)
        await self.tell(f"sandbox:{sandbox_id}", f"sandbox.{state}")

    def routes(self) -> list[web.RouteDef]:
        """Every path the page uses."""
        one = "/v1/sandboxes/{id}"
        terminal = one + "/terminals/{tid}"
        return [
            web.get("/", self._index),
            web.get("/assets/{name}", self._asset),
            web.get("/sw.js", self._worker),
            web.get("/v1/approvals", self._approvals),
            web.get("/v1/drive", self._drive),
            web.get("/v1/inbox", self._inbox),
            web.post("/v1/inbox/{item}/answer", self._answer),
            web.get("/v1/push-subscriptions", self._push),
            web.post("/auth/login", self._login),
            web.get("/auth/me", self._me),
            web.put("/v1/me/shade", self._shade),
            web.post("/auth/logout", self._logout),
            web.get("/v1/profiles", self._profiles),
            web.get("/v1/repositories", self._repositories),
            web.get("/v1/repositories/local/{key}", self._uploaded),
            web.get("/v1/projects/file", self._project),
            web.post("/v1/projects/decision", self._decide),
            web.post(one + "/setup", self._set_up),
            web.get("/v1/agent-catalogue", self._catalogue),
            web.get("/v1/events/stream", self._stream),
            web.get("/v1/sandboxes", self._list),
            web.post("/v1/sandboxes", self._create),
            web.get(one, self._get),
            web.get(one + "/logs", self._logs),
            web.get(one + "/unpulled", self._unpulled),
            web.post(one + "/{verb:sleep|stop|start|recreate|destroy|extend_ttl}", self._act),
            web.post(one + "/{verb:archive|revive}", self._put_away),
            web.post(one + "/review", self._review),
            web.get(one + "/terminals", self._terminals),
            web.post(one + "/terminals", self._open),
            web.get(terminal, self._terminal),
            web.delete(terminal, self._close),
            web.get(terminal + "/attach", self._attach),
            *self.agent.routes(),
            *self.team.routes(self),
            *self.boards.routes(),
            *self.review.routes(),
            *self.workers.routes(),
            *self.logins.routes(),
        ]

    async def _index(self, _: web.Request) -> web.StreamResponse:
        return file_of("index.html", headers={"Content-Security-Policy": POLICY})

    async def _asset(self, request: web.Request) -> web.StreamResponse:
        return file_of(f"assets/{request.match_info['name']}")

    async def _worker(self, _: web.Request) -> web.StreamResponse:
        return file_of("sw.js")

    async def _approvals(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"approvals": []})

    async def _drive(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"available": False, "account": None, "connected_at": None})

    async def _inbox(self, _: web.Request) -> web.StreamResponse:
        items = [
            {
                "id": f"q_{agent['id']}",
                "kind": "agent",
                "sandbox_id": sandbox["sandbox_id"],
                "sandbox_name": sandbox["name"],
                "place": None,
                "author": None,
                "agent": agent["agent"],
                "agent_id": agent["id"],
                "since": agent["status"]["since"],
                "lines": [agent["status"]["question"]],
                "options": agent["status"]["options"],
                "words": agent["status"]["words"],
                "by": agent["status"]["answer"],
                "shown": "a" * 64,
                "times": 1,
            }
            for sandbox in self.sandboxes.values()
            for agent in sandbox["agents"]
            if agent["status"]["status"] == "needs_you"
        ]
        return web.json_response({"items": sorted(items, key=lambda one: one["since"])})

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.answers.append((request.match_info["item"], await request.json()))
        return web.Response(status=204)

    async def _push(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"public_key": "BA" + "A" * 85, "subscriptions": []})

    async def _login(self, request: web.Request) -> web.StreamResponse:
        ticket = (await request.json())["ticket"]
        if ticket not in self.tickets:
            return problem(401, "unauthenticated", "the login link was used or is too old")
        self.tickets.discard(ticket)
        cookie = f"cookie-{len(self.cookies)}"
        self.cookies.add(cookie)
        answer = web.json_response(
            {"id": "person", "page_key": KEY + cookie, "next": self.team.next}
        )
        answer.set_cookie("atoll_session", cookie, httponly=True, samesite="Strict")
        return answer

    async def _me(self, _: web.Request) -> web.StreamResponse:
        return web.json_response(self.team.whoami())

    async def _shade(self, _: web.Request) -> web.StreamResponse:
        return web.Response(status=204)

    async def _logout(self, request: web.Request) -> web.StreamResponse:
        self.cookies.discard(request.cookies["atoll_session"])
        return web.Response(status=204)

    async def _profiles(self, _: web.Request) -> web.StreamResponse:
        found = [
            {
                "id": f"profile.{name}",
                "version": "1.0.0",
                "agent": agent,
                "description": words,
                "obstacle": self.obstacles.get(name),
                "ttl": {"default": "7d", "max": "12h" if name == "codex" else "30d"},
            }
            for name, agent, words in PROFILES
        ]
        return web.json_response({"profiles": found})

    async def _project(self, _: web.Request) -> web.StreamResponse:
        return web.json_response(self.project)

    async def _decide(self, request: web.Request) -> web.StreamResponse:
        self.decisions.append(await request.json())
        self.project |= {"decision": self.decisions[-1]["decision"], "undecided": False}
        return web.json_response(self.project)

    async def _set_up(self, request: web.Request) -> web.StreamResponse:
        sandbox = self.sandboxes[request.match_info["id"]]
        sandbox["project"] |= {"state": "running", "reason": None}
        await self.tell(f"sandbox:{sandbox['sandbox_id']}", "sandbox.setup_started")
        return web.json_response(row_of(sandbox))

    async def _catalogue(self, _: web.Request) -> web.StreamResponse:
        agent: dict[str, Any] = {
            "aliases": [],
            "reason": None,
            "mend": None,
            "providers": [],
            "about_mib": 0,
        }
        agent |= {"installable": True, "prompts": True, "machine": True, "install": None}
        agent["asks_at_terminal"] = False
        lacking = {"state": "key_missing", "reason": "There is no key.", "providers": ["gemini"]}
        found = [
            agent | {"name": "claude-code", "state": "works", "aliases": ["claude"]},
            agent | {"name": "codex", "state": "works", "providers": ["openai"]},
            agent | {"name": "gemini-cli", "asks_at_terminal": True} | lacking,
            agent | {"name": "opencode", "state": "works", "providers": ["openai", "anthropic"]},
            agent | {"name": ADDED, "state": "works", "providers": ["openai"]},
        ]
        for one in found:
            if one["state"] == "works" and one["name"] not in self.ready_agents:
                one |= lacking
        return web.json_response({"agents": found})

    async def _uploaded(self, request: web.Request) -> web.StreamResponse:
        refs = [{"name": f"refs/heads/{one}", "commit": "c" * 40} for one in ("main", "mine")]
        return web.json_response({"key": request.match_info["key"], "name": "demo", "refs": refs})

    async def _repositories(self, _: web.Request) -> web.StreamResponse:
        known = {
            "key": "ab" * 16,
            "name": "demo",
            "repo_url": "local:demo",
            "bytes": 48_312_320,
            "fetched_at": None,
        }
        return web.json_response({"repositories": [known]})

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        self.followers.append(request)
        return await self._follow(request)

    @property
    def streams(self) -> int:
        """How many streams of events a browser holds open now."""
        return sum(
            request.transport is not None and not request.transport.is_closing()
            for request in self.followers
        )

    async def _follow(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        await answer.write(b": welcome\n\n")
        told = int(request.headers.get("Last-Event-ID", len(self.events)))
        while True:
            async with self._news:
                with suppress(TimeoutError):
                    async with asyncio.timeout(HEARTBEAT_SECONDS):
                        await self._news.wait_for(lambda: len(self.events) > told)  # noqa: B023
                fresh = self.events[told:]
            if not fresh:
                await answer.write(b": still here\n\n")
            for event in fresh:
                text = f"id: {event['position']}\nevent: {event['event_type']}\n"
                await answer.write(f"{text}data: {json.dumps(event)}\n\n".encode())
            told += len(fresh)

    async def _list(self, _: web.Request) -> web.StreamResponse:
        there = self.sandboxes.values()
        shown = [row_of(one) for one in there if one["state"] != "destroyed"]
        return web.json_response({"sandboxes": shown, "next": None})

    async def _create(self, request: web.Request) -> web.StreamResponse:
        body = await read_checked(request, self.agent.installed)
        self.created.append(body)
        if self.create_problem is not None:
            status, code, detail, where = self.create_problem
            self.create_problem = None
            return problem(status, code, detail, where=where)
        repos = [
            {**repo, "path": "/workspace", "repo_url": repo["repo_url"] or "",
             "branch": repo["branch"] or "sandbox-20260101-1200"}
            for repo in body["repos"]
        ]  # fmt: skip
        said = {"state": "waiting", "reason": None, "before": 0, "prompt": body.get("prompt")}
        more = {"repos": repos, "agent": body.get("agent")}
        if body.get("prompt"):
            more["task"] = {"mode": "tui", "issue": None} | body["task"] | said
        made = self.add_sandbox(body.get("name") or "scratch", state="provisioning", **more)
        self.sandboxes[made]["created_at"] = at(datetime.now(UTC))
        self.logs[made] = [{"at": at(datetime.now(UTC)), "text": "workspace made in 2 ms"}]
        await self.tell(f"sandbox:{made}", "sandbox.requested")
        return web.json_response(row_of(self.sandboxes[made]), status=202)

    async def _get(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(row_of(self.sandboxes[request.match_info["id"]]))

    async def _logs(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"lines": self.logs[request.match_info["id"]]})

    async def _unpulled(self, request: web.Request) -> web.StreamResponse:
        sandbox = self.sandboxes[request.match_info["id"]]
        held = sandbox.get("held", [])
        return web.json_response({"places": sandbox.get("unpulled", []), "pushes": held})

    async def _act(self, request: web.Request) -> web.StreamResponse:
        sandbox_id, verb = request.match_info["id"], request.match_info["verb"]
        self.acts.append((verb, dict(request.query)))
        refuses = verb == "destroy" and request.query.get("unpulled") == "refuse"
        if refuses and self.sandboxes[sandbox_id].get("unpulled"):
            return problem(409, "unpulled_work", "there is work", where="unpulled")
        if request.query.get("keep_worktree"):
            self.sandboxes[sandbox_id]["kept_at"] = "/home/kept/kept_1"
        if verb == "extend_ttl":
            sandbox, asked = self.sandboxes[sandbox_id], (await request.json())["ttl"]
            end = datetime.fromisoformat(sandbox["expires_at"])
            end += timedelta(seconds=parse_duration(asked))
            if end > datetime.fromisoformat(sandbox["max_expires_at"]):
                return problem(429, "ttl_limit", f"no {asked} more fit", where="ttl")
            sandbox["expires_at"] = at(end)
            await self.tell(f"sandbox:{sandbox_id}", "sandbox.ttl_extended")
        else:
            states = {"stop": "stopped", "start": "ready", "recreate": "provisioning"}
            states["sleep"] = "stopped"
            self.sandboxes[sandbox_id]["asleep"] = verb == "sleep"
            await self.enter(sandbox_id, states.get(verb, "destroyed"))
        return web.json_response(row_of(self.sandboxes[sandbox_id]), status=202)

    async def _put_away(self, request: web.Request) -> web.StreamResponse:
        sandbox_id, verb = request.match_info["id"], request.match_info["verb"]
        self.acts.append((verb, {}))
        away = verb == "archive"
        self.sandboxes[sandbox_id]["archived_at"] = at(datetime.now(UTC)) if away else None
        await self.enter(sandbox_id, "stopped" if away else "active")
        await self.become(sandbox_id, "archived" if away else "to_review")
        return web.json_response(row_of(self.sandboxes[sandbox_id]), status=202)

    async def _review(self, request: web.Request) -> web.StreamResponse:
        sandbox_id, body = request.match_info["id"], await request.json()
        self.acts.append(("review", body))
        await self.become(sandbox_id, "reviewed" if body["reviewed"] else "to_review")
        return web.json_response(row_of(self.sandboxes[sandbox_id]))

    async def _terminals(self, request: web.Request) -> web.StreamResponse:
        found = self.terminals[request.match_info["id"]].values()
        return web.json_response({"terminals": [terminal.view() for terminal in found]})

    async def _open(self, request: web.Request) -> web.StreamResponse:
        body = await read_checked(request, self.agent.installed)
        made = self.add_terminal(request.match_info["id"], name=body.get("agent") or "bash")
        return web.json_response(made.view(), status=201)

    async def _terminal(self, request: web.Request) -> web.StreamResponse:
        found = self.terminals[request.match_info["id"]].get(request.match_info["tid"])
        if found is None:
            return problem(404, "not_found", "no such terminal")
        return web.json_response(found.view())

    async def _close(self, request: web.Request) -> web.StreamResponse:
        ended = self.terminals[request.match_info["id"]].pop(request.match_info["tid"], None)
        if ended is not None:
            await ended.drop(WSCloseCode.OK)
        return web.Response(status=204)

    async def _attach(self, request: web.Request) -> web.StreamResponse:
        if self.refuse_attach:
            self.refused += 1
            return problem(503, "unavailable", "the runtime cannot be reached just now")
        found = self.terminals[request.match_info["id"]].get(request.match_info["tid"])
        socket = web.WebSocketResponse(protocols=("atoll.page",))
        await socket.prepare(request)
        if found is None:
            await socket.close(code=4404)
        else:
            await found.serve(socket, request.query)
        return socket


@web.middleware
async def _guard(request: web.Request, handler: Any) -> web.StreamResponse:
    server: ScriptedServer = request.app[SERVER]
    path = request.path
    is_open = path in OPEN or path.startswith(("/assets/", "/auth/oidc/"))
    cookie = request.cookies.get("atoll_session")
    if not is_open and not (cookie in server.cookies and KEY + str(cookie) in _keys(request)):
        return problem(401, "unauthenticated", "nobody is logged in")
    try:
        answer: web.StreamResponse = await handler(request)
    except ValidationError as error:
        server.faults.append(str(error))
        raise
    return answer


def _keys(request: web.Request) -> list[str]:
    """The keys of the page, from the header of a call or the protocols of a WebSocket."""
    named = request.headers.get("Atoll-Page-Key", "").split(", ")
    offered = request.headers.get("Sec-WebSocket-Protocol", "").split(", ")
    return [*named, *(one.removeprefix("atoll.key.") for one in offered)]


SERVER = web.AppKey("server", ScriptedServer)


@asynccontextmanager
async def scripted_server(port: int = 0) -> AsyncIterator[ScriptedServer]:
    """A server on a loopback port of the system's choice, for as long as the block."""
    server = ScriptedServer()
    app = web.Application(middlewares=[_guard])
    app[SERVER] = server
    app.add_routes(server.routes())
    runner = web.AppRunner(app, shutdown_timeout=0.5, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    try:
        yield server
    finally:
        for of in server.terminals.values():
            for terminal in of.values():
                await terminal.drop(WSCloseCode.GOING_AWAY)
        await runner.cleanup()
