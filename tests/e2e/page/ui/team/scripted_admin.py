"""What administrators read of the scripted server: ten thousand sandboxes, usage, audit, search."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from aiohttp import web

OWNERS = ("person", "p_bob")
STATES = ("active", "ready", "stopped", "failed", "destroyed")
ROWS = 10_000
NOW = datetime.now(UTC)


def _at(**ago: float) -> str:
    return (NOW - timedelta(**ago)).isoformat().replace("+00:00", "Z")


def _counts(number: int) -> dict[str, int]:
    return {
        "requests": number,
        "refused": number // 9,
        "bytes_in": number * 4_000,
        "bytes_out": number * 90_000,
        "tokens_in": number * 1_700,
        "tokens_out": number * 230,
    }


def _row(number: int) -> dict[str, Any]:
    state = STATES[number % len(STATES)]
    live = state in ("active", "ready")
    return {
        "sandbox_id": f"sb_{number}",
        "name": f"box-{number:05}",
        "state": state,
        "reason": "The image could not be pulled." if state == "failed" else None,
        "owner": OWNERS[number % 2],
        "scope": "shared" if number % 7 == 0 else "session",
        "profile": "profile.shell",
        "created_at": _at(minutes=number),
        "last_used_at": None,
        "expires_at": _at(hours=-4),
        "retained_until": None,
        "agents": int(live),
        "working": int(live and number % 3 == 0),
        "waiting": int(live and number % 10 == 1),
        "counts": _counts(number),
    }


def _entry(number: int) -> dict[str, Any]:
    kind = ("sandbox.requested", "secret.set", "auth.login")[number % 3]
    return {
        "org_id": "personal",
        "n": number,
        "event_id": f"ev_{number}",
        "event_type": kind,
        "stream": f"sandbox:sb_{number % 5}",
        "at": _at(minutes=300 - number),
        "actor_kind": "adm",
        "actor_id": OWNERS[number % 2],
        "address": "192.0.2.7",
        "request_id": "",
        "token_id": "",
        "reason": "<img src=x onerror=alert(1)>" if number % 4 == 0 else None,
        "payload": {"name": f"thing-{number}", "how": "link"},
        "previous": "0" * 64,
        "hash": "5b1e" * 16,
    }


def _host(number: int, kind: str) -> dict[str, Any]:
    none: dict[str, Any] = {"sandboxes": None, "cpu": None, "memory_mb": None}
    limited = {"sandboxes": 50, "cpu": 16.0, "memory_mb": 65_536}
    return {
        "host_id": f"hst_{number}",
        "name": "local" if kind == "local" else f"box-{number}",
        "kind": kind,
        "address": "" if kind == "local" else f"ssh://atoll@box-{number}.example:22",
        "fingerprint": None if kind == "local" else "SHA256:abc",
        "region": "" if kind == "local" else "eu-west",
        "labels": {},
        "capacity": none if kind == "local" else limited,
        "overcommit": 1.5,
        "cost_per_hour": None if kind == "local" else {"micros": 120_000, "currency": "EUR"},
        "organization": None,
        "profile": None,
        "state": "active",
        "used": {"sandboxes": 3, "cpu": 4.5, "memory_mb": 6_144},
        "kept": 2 * (number - 1),
    }


def _measured(breaker: str) -> dict[str, Any]:
    found = {"attempts": 41, "success": 0.976, "p50_ms": 310, "p95_ms": 1_200}
    return {**found, "breaker": breaker}


def _considered(host: str, *reasons: str) -> dict[str, Any]:
    return {
        "extension": "ext.ssh" if host == "box-2" else "ext.namespaces",
        "host": host,
        "region": "",
        "fit": not reasons,
        "reasons": list(reasons),
        "isolation": "container",
        "self_hosted": True,
        "gpus": [],
        "cost_per_hour": {"micros": 120_000, "currency": "EUR"} if host == "box-2" else None,
        "health": _measured("closed"),
    }


@dataclass
class ScriptedAdmin:
    """See the file's head. Tests read and change its members as they like."""

    entries: list[dict[str, Any]] = field(
        default_factory=lambda: [_entry(n) for n in range(1, 251)]
    )
    hits: list[dict[str, Any]] = field(default_factory=list)
    #: Who may read what `atoll doctor` finds.
    runs_it: bool = True
    machines: list[dict[str, Any]] = field(
        default_factory=lambda: [_host(1, "local"), _host(2, "ssh")]
    )
    #: The fingerprint of the key that hosts show; None while they show none.
    shown_key: str | None = None
    #: While set, nothing of this is answered.
    away: bool = False
    asked: list[tuple[str, ...]] = field(default_factory=list)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The sandboxes, made once somebody asks: most tests never do."""
        return [_row(number) for number in range(ROWS)]

    def routes(self) -> list[web.RouteDef]:
        """Every path of an overview."""
        org = "/v1/organizations/{org}"
        return [
            web.get("/v1/search", self._search),
            web.get(f"{org}/usage", self._usage),
            web.get(f"{org}/sandboxes", self._every),
            web.post(f"{org}/sandboxes/{{id}}/{{act:stop|destroy}}", self._end),
            web.get("/v1/audit", self._audit),
            web.get("/v1/audit/export", self._export),
            web.get("/v1/extensions", self._extensions),
            web.get("/v1/extensions/findings", self._findings),
            web.get("/v1/events", self._events),
            web.get("/v1/hosts", self._hosts),
            web.post("/v1/hosts/{id}/{act:drain|undrain}", self._drain),
            web.post("/v1/hosts/{id}/trust", self._trust),
            web.get("/v1/routes/health", self._health),
            web.get("/v1/routes/{id}", self._route),
        ]

    async def _search(self, request: web.Request) -> web.StreamResponse:
        text = request.query["q"].lower()
        found = [one for one in self.hits if text in f"{one['title']} {one['text']}".lower()]
        return web.json_response({"hits": found, "complete": True})

    async def _events(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"events": [], "next": 0, "gap": None})

    async def _usage(self, request: web.Request) -> web.StreamResponse:
        if self.away:
            return web.json_response({"detail": "The store is away."}, status=503)
        seconds = {"5m": 300, "1h": 3600, "1d": 86400}[request.query["bucket"]]
        count = int(request.query["hours"]) * 3600 // seconds + 1
        points = []
        for place in range(count):
            wave = 0.5 + 0.5 * math.sin(place / count * 9)
            standing = {
                "sandboxes": round(40 * wave) + 3,
                "agents": round(25 * wave) + 2,
                "working": round(12 * wave),
                "sessions": round(60 * wave),
            }
            watched = not count // 3 < place < count // 3 + count // 12
            points.append(
                {
                    "at": _at(seconds=(count - place) * seconds),
                    "standing": standing if watched else None,
                    "counts": _counts(round(100 * wave) if watched else 0),
                }
            )
        highest = {"sandboxes": 43, "agents": 27, "working": 12, "sessions": 60}
        answer = {"begin": _at(), "end": _at(), "bucket_seconds": seconds, "points": points}
        now = {"sandboxes": 7, "agents": 5, "working": 2, "sessions": 9}
        told = {"highest": highest, "counts": _counts(4321), "now": now}
        return web.json_response({**answer, **told})

    async def _every(self, request: web.Request) -> web.StreamResponse:
        query = request.query
        self.asked.append(("GET", query.get("offset", "")))
        if self.away:
            return web.json_response({"detail": "The store is away."}, status=503)
        states = query.getall("state", [one for one in STATES if one != "destroyed"])
        fitting = [
            one
            for one in self.rows
            if query.get("q", "") in one["name"]
            and query.get("owner", one["owner"]) == one["owner"]
        ]
        tally: dict[str, int] = {}
        for one in fitting:
            tally[one["state"]] = tally.get(one["state"], 0) + 1
        shown = [one for one in fitting if one["state"] in states]
        keys: dict[str, Any] = {
            "name": lambda one: one["name"],
            "created": lambda one: one["created_at"],
            "tokens": lambda one: one["counts"]["tokens_in"],
        }
        shown.sort(key=keys.get(query["sort"], keys["name"]), reverse=query["descending"] == "true")
        offset, limit = int(query["offset"]), int(query["limit"])
        page = {"sandboxes": shown[offset : offset + limit], "total": len(shown), "tally": tally}
        return web.json_response({**page, "next": None})

    async def _end(self, request: web.Request) -> web.StreamResponse:
        act = request.match_info["act"]
        self.asked.append((act, request.match_info["id"]))
        row = next(one for one in self.rows if one["sandbox_id"] == request.match_info["id"])
        row |= {"state": "stopped" if act == "stop" else "destroying", "working": 0}
        return web.json_response(row, status=202)

    async def _audit(self, request: web.Request) -> web.StreamResponse:
        query = request.query
        self.asked.append(("audit", request.query_string))
        before = int(query.get("before", len(self.entries) + 1))
        fitting = [
            one
            for one in self.entries
            if one["n"] < before
            and one["event_type"].startswith(query.get("kind", ""))
            and query.get("actor", one["actor_id"]) == one["actor_id"]
        ][-100:]
        previous = fitting[0]["n"] if len(fitting) == 100 else None
        return web.json_response({"entries": fitting, "next": 0, "previous": previous})

    async def _export(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(("export", request.query_string))
        return web.Response(text="{}\n", content_type="application/x-ndjson")

    async def _extensions(self, _: web.Request) -> web.StreamResponse:
        able = {
            "isolation": "container",
            "regions": [],
            "gpu": False,
            "persistence": True,
            "pricing": "free",
            "abilities": ["snapshot", "pause"],
        }
        one = {"name": "ext.namespaces", "available": True, "reason": None, "capabilities": able}
        other = {"name": "ext.docker", "available": False, "capabilities": None}
        other |= {"reason": "No daemon answers at unix:///var/run/docker.sock."}
        return web.json_response({"extensions": [one, other]})

    async def _hosts(self, _: web.Request) -> web.StreamResponse:
        if not self.runs_it:
            return web.json_response({"detail": "needs system.manage"}, status=403)
        return web.json_response({"hosts": self.machines})

    async def _drain(self, request: web.Request) -> web.StreamResponse:
        host = next(one for one in self.machines if one["host_id"] == request.match_info["id"])
        act = request.match_info["act"]
        self.asked.append((act, host["name"]))
        host["state"] = "draining" if act == "drain" else "active"
        return web.json_response(host)

    async def _trust(self, request: web.Request) -> web.StreamResponse:
        """As the server: without a fingerprint nothing is pinned."""
        host = next(one for one in self.machines if one["host_id"] == request.match_info["id"])
        wanted = (await request.json()).get("fingerprint")
        if wanted is not None:
            self.asked.append(("trust", host["name"], wanted))
            host["fingerprint"] = wanted
        if self.shown_key is None:
            return web.json_response({"detail": "box-2 shows no key: try again"}, status=503)
        pinned = host["fingerprint"]
        return web.json_response(
            {"name": host["name"], "pinned": pinned, "shown": [self.shown_key]}
        )

    async def _health(self, _: web.Request) -> web.StreamResponse:
        if not self.runs_it:
            return web.json_response({"detail": "needs system.manage"}, status=403)
        good = {"extension": "ext.namespaces", "place": "local", "health": _measured("closed")}
        bad = {"extension": "ext.ssh", "place": "box-2", "health": _measured("open")}
        return web.json_response({"places": [good, bad]})

    async def _route(self, request: web.Request) -> web.StreamResponse:
        failed = {"extension": "ext.ssh", "host": "box-2", "at": _at(minutes=3)}
        place = {"extension": "ext.namespaces", "host": "local"}
        return web.json_response(
            {
                "route_id": request.match_info["id"],
                "sandbox_id": "sb_one",
                "at": _at(minutes=3),
                "strategy": "prefer-self-hosted",
                "extensions": [],
                "only": None,
                "allowed": [],
                "limits": [],
                "need": {
                    "isolation": "container",
                    "image": "",
                    "closed_network": True,
                    "cpu": None,
                    "memory_mb": None,
                    "workspace_mb": None,
                },
                "candidates": [
                    _considered("box-2"),
                    _considered("local"),
                    _considered("box-3", "draining", "no room for 2 cores"),
                ],
                "chosen": {**place, "region": ""},
                "moves": [],
                "attempts": [
                    {**failed, "reason": "the host did not answer"},
                    {**place, "at": _at(minutes=3), "reason": None},
                ],
            }
        )

    async def _findings(self, _: web.Request) -> web.StreamResponse:
        if not self.runs_it:
            return web.json_response({"detail": "needs system.manage"}, status=403)
        found = [
            {"name": "machine", "level": "ok", "text": "Linux 6.8 on x86_64", "fix": ""},
            {"name": "swap", "level": "warn", "text": "no limit", "fix": "Turn swapaccount on."},
            {"name": "bwrap", "level": "fail", "text": "is not there", "fix": "Install it."},
        ]
        return web.json_response({"findings": found, "at": _at()})
