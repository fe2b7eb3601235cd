"""Every route and WebSocket, called with ids of somebody else's things: no answer tells that the
thing is there. The calls are made from the OpenAPI document and its list of WebSockets."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import aiohttp
import httpx
import pytest

from atoll.domain.approvals.approval import Approval, ApprovalId, Requester, SecretAsk
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId
from atoll.domain.repository.repository import read_local
from atoll.domain.sandboxes.pull_order import PullDraft, PullOrder
from atoll.domain.sandboxes.sandbox import SandboxRepo
from atoll.ports.kept import KeptWorktree
from atoll.wire.words.people import OrgRole
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import World, document_text, world

DOCUMENT: dict[str, Any] = json.loads(document_text())
SCHEMAS = DOCUMENT["components"]["schemas"]
SHARED = DOCUMENT["components"]["parameters"]
SOCKET = "WEBSOCKET"
METHODS = ("get", "post", "put", "patch", "delete")

STRANGERS = ("eve", "bob")
"""The owner of another organization, and a member of the same one."""

OF_THE_ORGANIZATION = {"organization", "invitation", "member", "account", "profile", "key"}
"""Things that are the organization's: foreign to `eve` alone."""

OVERSEEN = (
    *("/v1/organizations/{organization}/sandboxes", "/v1/organizations/{organization}/workers"),
    "/v1/organizations/{organization}/tokens",
)
"""Sandboxes and tokens as administrators see them: the organization's, too."""

WITHIN = {
    *("terminal", "command", "recording", "agent", "card", "number", "pty", "port", "share"),
    *("subject", "commit", "comment", "seq", "thread", "remark"),
}
"""What is named below a sandbox or a dashboard: it is there, as far as that is."""

NOBODYS = {"realm", "code"}
"""Realms are public, and a code is whoever's who confirms it."""

PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAS36OZisKD2OHSgwnvTaGeeTaqB04Tu8MCN8vpYPRQN"

FILLED: dict[str, Any] = {
    "POST /v1/sandboxes/{sandbox}/ssh/certificates": {"public_key": PUBLIC_KEY},
    "POST /v1/sandboxes/{sandbox}/pulls": {"repo": 0, "branch": None},
    "POST /v1/sandboxes/{sandbox}/sync": {},
    "POST /v1/sandboxes/{sandbox}/extend_ttl": {"ttl": "1h"},
    "POST /v1/sandboxes/{sandbox}/exec": {"argv": ["true"]},
    "POST /v1/sandboxes/{sandbox}/exec/{command}/signal": {"signal": "INT"},
    "POST /v1/sandboxes/{sandbox}/terminals/{terminal}/signal": {"signal": "INT"},
    "POST /v1/sandboxes/{sandbox}/pulled": {"repo": 0, "commit": "a" * 40},
    "POST /v1/sandboxes/{sandbox}/commit": {"message": "m"},
    "POST /v1/sandboxes/{sandbox}/changes/discard": {"path": "a", "digest": "d" * 64},
    "POST /v1/workers/{worker_id}/requests": {
        "request": {"request_id": "r", "method": "thread/list", "params": {}}
    },
    "POST /v1/workers/{worker_id}/events": {"epoch": 1, "first": 1},
    "PUT /v1/desktops/{desktop}/presence": {"isolation": {"level": "none", "mechanism": "none"}},
    "POST /v1/pulls/{order}/result": {"done": True, "said": "pulled"},
    "POST /v1/sandboxes/{sandbox}/agents": {"agent": "codex"},
    "PUT /v1/sandboxes/{sandbox}/network": {"mode": "limited"},
    "POST /v1/sandboxes/{sandbox}/terminals/{terminal}/resize": {"cols": 80, "rows": 24},
    "PATCH /v1/sandboxes/{sandbox}/agents/{agent}/settings": {"model": "m"},
    "POST /v1/approvals/{approval}/approve": {"shown": "0" * 64, "for": "once"},
    "POST /v1/inbox/{item}/answer": {"option": "allow", "shown": "0" * 64},
    "POST /v1/sandboxes/{sandbox}/previews": {"app": "web", "port": 3000},
    "POST /v1/sandboxes/{sandbox}/owner": {"member": "eve"},
    "POST /v1/sandboxes/{sandbox}/threads/send": {"agent_id": "t_1", "threads": ["thr_1"]},
}
"""Bodies that a schema alone does not say."""

ALIKE = {
    "POST /v1/ingest/{source}/{hook}": "signed by nobody here: 401, whichever hook it names",
    "PUT /v1/secrets/{secret}": "an id is no name; by a name it sets a secret of the caller's own",
    "PUT /v1/repositories/local/{key}": "each organization has keys of its own to upload under",
    "POST /v1/repositories/local/{key}/have": "what is not there has no commits",
    "POST /v1/workers/{worker_id}/events": "refused to everybody but the host of a worker",
    **dict.fromkeys(
        ("PUT /v1/desktops/{desktop}", "DELETE /v1/desktops/{desktop}"),
        "each person has names of their own, and the caller has linked one by then",
    ),
    "PUT /v1/profiles/{profile}": "it saves a profile of the caller's own organization",
    **dict.fromkeys(
        (
            *("GET /v1/hosts/{host}", "PATCH /v1/hosts/{host}", "DELETE /v1/hosts/{host}"),
            *("POST /v1/hosts/{host}/check", "POST /v1/hosts/{host}/drain"),
            *("POST /v1/hosts/{host}/undrain", "POST /v1/hosts/{host}/trust"),
        ),
        "hosts are the installation's: refused by the permission, before one is looked for",
    ),
    "POST /v1/running/{sandbox}/stop": "whoever runs the installation stops what runs on it: "
    "refused by the permission, before one is looked for",
}
"""Operations that do not answer 404 for a missing thing, and why."""

QUERIES = {"path": "a", "provider": "openai", "from": "main", "ref": "HEAD", "q": "x"}
OPEN = (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY)
NOISE = {"date", "content-length"}


HOST = {
    "address": "ssh://ada@box.example",
    "host_key": PUBLIC_KEY,
}
"""A host of the installation, which no member may see."""

LOGIN = {"agent": "opencode", "method": 2, "api_key": "canary-of-a-login-0123456789"}
"""A login of an agent, which is its owner's alone."""

KEY = "0123456789abcdef01234567"
"""The key of a checkout that ann uploaded."""

ELSEWHERE: list[tuple[str, str, str, Any]] = [
    ("sandbox", "GET", "/v1/events?stream=sandbox:{}", None),
    ("sandbox", "GET", "/v1/secrets/K?scope=sandbox:{}", None),
    ("sandbox", "GET", "/v1/pulls/{}/result", None),
    (
        "sandbox",
        "POST",
        "/v1/secrets",
        {"name": "K", "value": "v-0123456789", "kind": "custom", "scope": "sandbox:{}"},
    ),
    ("member", "POST", "/v1/sandboxes/own/owner", {"member": "{}"}),
    ("sandbox", "PUT", "/v1/budgets",
     {"scope": "sandbox", "subject": "{}", "amount_micros": 5, "period": "day"}),
    ("profile", "POST", "/v1/sandboxes", {"profile": "{}"}),
    ("snapshot", "POST", "/v1/sandboxes", {"seed": {"snapshot": "{}"}}),
    ("snapshot", "POST", "/v1/sandboxes/own/restore", {"snapshot": "{}"}),
    ("key", "POST", "/v1/repositories/local/{}/have", {"tips": ["a" * 40]}),
    ("key", "GET", "/v1/projects/file?key={}", None),
    ("key", "POST", "/v1/pulls/take?wait=0", {"key": "{}"}),
    ("approval", "GET", "/v1/approvals?cursor={}", None),
    ("webhook", "GET", "/v1/events?stream=webhook:{}", None),
    ("secret", "GET", "/v1/events?stream=secret:{}", None),
    ("organization", "GET", "/v1/events?stream=org:{}", None),
    ("dashboard", "GET", "/v1/events?stream=dashboard:{}", None),
    ("account", "GET", "/v1/tokens?account={}", None),
    ("account", "POST", "/auth/pat", {"name": "n", "account": "{}"}),
    ("sandbox", "POST", "/auth/pat", {"name": "n", "sandbox_id": "{}"}),
    ("key", "POST", "/v1/projects/decision",
     {"repository": {"key": "{}"}, "shown": "0" * 64, "decision": "approved"}),
]  # fmt: skip
"""Ids in queries and bodies: the thing, and a call whose `{}` is its id."""

WITHIN_ONES_OWN: list[tuple[str, str, str, Any]] = [
    ("share", "DELETE", "/v1/sandboxes/own/shares/{}", None),
    ("preview", "GET", "/v1/sandboxes/own/previews/{}", None),
    ("preview", "POST", "/v1/sandboxes/own/previews/{}/links", {}),
    ("preview", "DELETE", "/v1/sandboxes/own/previews/{}", None),
    ("invitation", "DELETE", "/v1/organizations/elsewhere/invitations/{}", None),
    ("member", "PATCH", "/v1/organizations/elsewhere/members/{}", {"role": "viewer"}),
    ("member", "DELETE", "/v1/organizations/elsewhere/members/{}", None),
    ("member", "PUT", "/v1/organizations/elsewhere/quotas/{}", {"sandboxes": 1}),
    ("account", "DELETE", "/v1/organizations/elsewhere/service-accounts/{}", None),
    ("sandbox", "POST", "/v1/organizations/elsewhere/sandboxes/{}/stop", None),
    ("sandbox", "POST", "/v1/organizations/elsewhere/sandboxes/{}/destroy", None),
]
"""Ids of somebody else's things below a sandbox or an organization of one's own."""


@dataclass(frozen=True)
class Operation:
    """A call to make: its path has `{names}`."""

    method: str
    path: str
    spec: Any

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    def names(self) -> list[str]:
        return re.findall(r"\{(\w+)\}", self.path)


def _operations() -> Iterator[Operation]:
    for path, item in DOCUMENT["paths"].items():
        for method in METHODS:
            if method in item:
                yield Operation(method.upper(), path, item[method])
    for path in DOCUMENT["x-websockets"]:
        yield Operation(SOCKET, path, {})


OPERATIONS = list(_operations())
NAMING = [one for one in OPERATIONS if set(one.names()) - NOBODYS - WITHIN]


def _example(schema: Any) -> Any:
    """The least value that a schema takes."""
    if "$ref" in schema:
        return _example(SCHEMAS[schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return _example(schema["anyOf"][0])
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    match schema.get("type"):
        case "object":
            wanted = schema.get("required", ())
            return {name: _example(schema["properties"][name]) for name in wanted}
        case "array":
            return []
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case _:
            return schema.get("examples", ["a" * max(1, schema.get("minLength", 1))])[0]


def _body(operation: Operation) -> dict[str, Any]:
    """What to send, as `httpx` takes it."""
    if operation.name in FILLED:
        return {"json": FILLED[operation.name]}
    content = operation.spec.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        return {"json": _example(content["application/json"]["schema"])}
    if content:
        return {"content": b"x", "headers": {"content-type": next(iter(content))}}
    return {}


def _query(operation: Operation) -> dict[str, str]:
    found = {}
    for one in operation.spec.get("parameters", ()):
        one = SHARED[one["$ref"].rpartition("/")[2]] if "$ref" in one else one
        if one["in"] == "query" and (one.get("required") or one["name"] in ("path",)):
            found[one["name"]] = QUERIES.get(one["name"]) or str(_example(one["schema"]))
    return found


@dataclass
class Things:
    """What belongs to `ann` of `acme`, by the name of a path's parameter."""

    team: Team
    ids: dict[str, str]

    def values(self, *, foreign: bool, whole: str) -> dict[str, str]:
        """Return what to put into a path. With `foreign` the real id of `whole`, else one of the
        same shape that nothing has."""
        real = {**self.ids, **dict.fromkeys(("agent", "pty"), "t_1")}
        return {**real, whole: real[whole] if foreign else _missing(real[whole])}


def _missing(real: str) -> str:
    """An id of the same shape and length."""
    kind, separator, rest = (re.findall(r"^(?:([a-z]+)([._]))?(.*)$", real))[0]
    return f"{kind}{separator}{rest[::-1]}"


async def _things(atoll: World) -> Things:
    team = await team_of(atoll, ann="member", bob="member", walter="member")
    await team.organization("elsewhere")
    await team.join("eve", OrgRole.OWNER, org="elsewhere")

    async def made(path: str, body: Any, key: str, *, who: str | None = "ann") -> str:
        answer = await team.call(who, "POST", path, json=body)
        assert answer.status_code in (200, 201), answer.text
        return str(answer.json()[key])

    box = await made("/v1/sandboxes?wait=ready", {"name": "box-of-ann"}, "sandbox_id")
    secret = {"name": "KEY_OF_ANN", "value": "canary-0123456789", "kind": "custom"}
    org = "/v1/organizations/acme"
    board = await made("/v1/dashboards", {"name": "of ann"}, "id")
    comment = {"item_id": "itm_0123456789abcdef", "text": "of ann"}
    shown = await team.call("ann", "GET", f"/v1/sandboxes/{box}")
    opened = await team.call("ann", "POST", f"/v1/sandboxes/{box}/threads", json={"text": "of ann"})
    assert opened.status_code == 201, opened.text
    await made("/v1/workers", {"worker_id": "anns-worker"}, "reattached")
    linked = await team.call("ann", "PUT", "/v1/desktops/anns-laptop")
    assert linked.status_code == 201, linked.text
    ids = {
        "sandbox": box,
        "route": shown.json()["route"],
        "session": box,
        "secret": await made("/v1/secrets", secret, "secret_id"),
        "share": await made(f"/v1/sandboxes/{box}/shares", {}, "share_id"),
        "preview": await made(
            f"/v1/sandboxes/{box}/previews", {"app": "web", "port": 3000}, "preview_id"
        ),
        "snapshot": await made(f"/v1/sandboxes/{box}/snapshots", {}, "snapshot_id"),
        "budget": await _budget(team),
        "token": await made("/auth/pat", {"name": "of-ann"}, "id"),
        "ssh_key": await made("/v1/ssh/keys", {"key": PUBLIC_KEY}, "key_id"),
        "source": "flux",
        "hook": await made("/v1/hooks", {"source": "flux", "name": "a hook"}, "hook_id"),
        "webhook": await made("/v1/webhooks", {"url": "https://hook.example.org/"}, "webhook_id"),
        "dashboard": board,
        "comment": await made(f"/v1/dashboards/{board}/comments", comment, "id"),
        "subscription": await made("/v1/push-subscriptions", _browser(), "subscription_id"),
        "thread": opened.json()["thread_id"],
        "remark": opened.json()["remarks"][0]["remark_id"],
        "organization": "acme",
        "invitation": await made(f"{org}/invitations", {}, "invitation_id", who=None),
        "account": await made(f"{org}/service-accounts", {"name": "bot"}, "member_id", who=None),
        "host": await made("/v1/hosts", HOST, "host_id", who=None),
        "member": "walter",
        "worker_id": "anns-worker",
        "login": await made("/v1/agent-logins", LOGIN, "id"),
        "desktop": "anns-laptop",
        "subject": "walter",
        **{"terminal": "t_1", "command": "e_1", "recording": "r_1", "card": "c_1"},
        "commit": "a" * 40,
        "seq": "1",
        **{"number": "1", "port": "8000", "key": KEY, "realm": "realm-x", "code": "BCDF-GHJK"},
    }
    await _stored(atoll, box)
    profile = {"document": "id: profile.anns\nversion: '1.0.0'\nextension: ext.namespaces\n"}
    saved = await team.call("ann", "PUT", "/v1/profiles/profile.anns", json=profile)
    if saved.status_code == 422:
        saved = await team.call(
            "ann",
            "PUT",
            "/v1/profiles/profile.anns",
            content=profile["document"],
            headers={"content-type": "application/yaml"},
        )
    assert saved.status_code in (200, 201), saved.text
    ids |= {"approval": "ap_ann0000000000001", "item": "ap_ann0000000000001"}
    ids |= {"kept": "kept_ann000000000001", "order": "pull_ann00000000001"}
    return Things(team, {**ids, "profile": "profile.anns"})


async def _budget(team: Team) -> str:
    body = {"scope": "person", "amount_micros": 5, "period": "day"}
    answer = await team.call("ann", "PUT", "/v1/budgets", json=body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["budget_id"])


def _browser() -> dict[str, Any]:
    return {
        "endpoint": "https://push.example.org/of-ann",
        "keys": {"p256dh": "B" + "A" * 86, "auth": "A" * 22},
    }


async def _stored(atoll: World, box: str) -> None:
    """What nobody makes by the API alone: a request from inside, kept work, a pull order."""
    now, ann = atoll.clock.now(), PrincipalId("ann")
    sandbox = SandboxId(box)
    approval = Approval(
        ApprovalId("ap_ann0000000000001"),
        PERSONAL_ORG,
        ann,
        Requester(sandbox, "box-of-ann", 1, "ask_1"),
        SecretAsk("KEY_OF_ANN", "sec_1", 1, "h.example.org", 443),
        now,
        now + timedelta(days=1),
    )
    repo = SandboxRepo("https://example.org/o/r", "b", None, "/workspace")
    order = PullOrder(
        "pull_ann00000000001", PERSONAL_ORG, ann, sandbox, "box-of-ann", PullDraft(), now, repo
    )
    async with atoll.ground.store.begin() as rows:
        await rows.approvals.put(approval)
        await rows.pulls.put(order)
    kept = KeptWorktree(
        "kept_ann000000000001",
        PERSONAL_ORG,
        ann,
        sandbox,
        "box-of-ann",
        now,
        now + timedelta(days=1),
        bundles=(0,),
    )

    async def tar() -> AsyncIterator[bytes]:
        yield b"tar"

    source = read_local(KEY, "anns")
    await atoll.services.repositories._shelf.place(source, PERSONAL_ORG)
    async with atoll.services.home.kept._shelf.draft(kept.id) as draft:
        await draft.write("tree.tar", tar())
        await draft.commit(replace(kept, bytes=3))


async def _answer(
    things: Things, who: str, operation: Operation, values: dict[str, str]
) -> tuple[int, str, list[tuple[str, str]]]:
    """The whole answer, without the ids that were asked for and what is of the moment."""
    path = re.sub(r"\{(\w+)\}", lambda found: values[found[1]], operation.path)
    more = _body(operation)
    if operation.method == SOCKET:
        return await _conversation(f"{things.team.atoll.url}{path}", who, values)
    async with things.team.client(who) as client:
        answer = await client.request(operation.method, path, params=_query(operation), **more)
    return answer.status_code, _masked(answer.text, values), _headers(answer, values)


async def _conversation(
    url: str, who: str, values: dict[str, str]
) -> tuple[int, str, list[tuple[str, str]]]:
    """All that a WebSocket says until it is closed, and how."""
    headers = {"Authorization": f"Bearer token-of-{who}"}
    said = []
    async with (
        asyncio.timeout(10),
        aiohttp.ClientSession(headers=headers) as session,
        session.ws_connect(url) as socket,
    ):
        while (message := await socket.receive()).type in OPEN:
            said.append(str(message.data))
        said.append(str(message.extra))
        return socket.close_code or 0, _masked("".join(said), values), []


def _masked(text: str, values: dict[str, str]) -> str:
    for value in sorted(values.values(), key=len, reverse=True):
        if len(value) > 3:
            text = text.replace(value, "<id>")
    return text


def _sought(answer: tuple[int, str, list[tuple[str, str]]]) -> bool:
    """Whether the thing was looked for, and not found."""
    return answer[0] == 4404 or (answer[0] == 404 and '"code":"not_found"' in answer[1])


def _headers(answer: httpx.Response, values: dict[str, str]) -> list[tuple[str, str]]:
    return sorted(
        (name, _masked(text, values)) for name, text in answer.headers.items() if name not in NOISE
    )


def _cases() -> Iterator[tuple[Operation, str]]:
    for operation in NAMING:
        for name in operation.names():
            if name not in NOBODYS | WITHIN:
                yield operation, name


CASES = list(_cases())


def test_every_operation_that_names_a_thing_is_a_case() -> None:
    named = {operation.name for operation, _ in CASES}
    assert named == {one.name for one in NAMING}
    assert len(named) > 90
    sockets = {path for method, path in (one.name.split() for one in NAMING) if method == SOCKET}
    assert sockets == {path for path in DOCUMENT["x-websockets"] if "{" in path}


@pytest.fixture
async def things() -> AsyncIterator[Things]:
    async with world() as atoll:
        yield await _things(atoll)


@pytest.mark.parametrize("who", STRANGERS)
async def test_foreign_id_answers_exactly_like_a_missing_one(things: Things, who: str) -> None:
    differences, unproven = [], []
    for operation, name in CASES:
        overseen = operation.path.startswith(OVERSEEN)
        if who == "bob" and (name in OF_THE_ORGANIZATION or overseen):
            continue  # it is his organization's
        foreign, missing = [
            await _answer(things, who, operation, things.values(foreign=there, whole=name))
            for there in (True, False)
        ]
        if foreign != missing:
            differences.append((operation.name, name, foreign, missing))
        if not _sought(foreign) and operation.name not in ALIKE:
            unproven.append((operation.name, name, foreign[:2]))
    assert differences == []
    # What is refused before anything is looked for would be alike in any case.
    assert unproven == []


@pytest.mark.parametrize("who", STRANGERS)
async def test_foreign_id_in_a_query_or_a_body_answers_like_a_missing_one(
    things: Things, who: str
) -> None:
    made = await things.team.call(who, "POST", "/v1/sandboxes?wait=ready", json={"name": "own"})
    assert made.status_code == 201
    for name, method, path, body in ELSEWHERE:
        if who == "bob" and name in OF_THE_ORGANIZATION:
            continue
        answers = []
        for there in (True, False):
            values = things.values(foreign=there, whole=name)
            sent = json.dumps(body).replace("{}", values[name])
            more = {} if body is None else {"json": json.loads(sent)}
            answer = await things.team.call(who, method, path.replace("{}", values[name]), **more)
            answers.append(
                (answer.status_code, _masked(answer.text, values), _headers(answer, values))
            )
        assert answers[0] == answers[1], (name, method, path)
        assert answers[0][0] not in (201, 202), (name, method, path)


@pytest.mark.parametrize("who", STRANGERS)
async def test_foreign_id_below_a_thing_of_ones_own_answers_like_a_missing_one(
    things: Things, who: str
) -> None:
    made = await things.team.call(who, "POST", "/v1/sandboxes?wait=ready", json={"name": "own"})
    assert made.status_code == 201
    for name, method, path, body in WITHIN_ONES_OWN:
        if who == "bob" and (name in OF_THE_ORGANIZATION or "elsewhere" in path):
            continue
        answers = []
        for there in (True, False):
            values = things.values(foreign=there, whole=name)
            more = {} if body is None else {"json": body}
            answer = await things.team.call(who, method, path.replace("{}", values[name]), **more)
            answers.append(
                (answer.status_code, _masked(answer.text, values), _headers(answer, values))
            )
        assert answers[0] == answers[1], (name, method, path)
        assert answers[0][0] == 404, (name, method, path, answers[0])
    # What was named is as it was.
    box = things.ids["sandbox"]
    shares = await things.team.call("ann", "GET", f"/v1/sandboxes/{box}/shares")
    assert [one["share_id"] for one in shares.json()["shares"]] == [things.ids["share"]]


@pytest.mark.parametrize("who", STRANGERS)
async def test_stream_of_somebody_elses_events_is_refused_as_that_of_nobody(
    things: Things, who: str
) -> None:
    answers = []
    for there in (True, False):
        values = things.values(foreign=there, whole="sandbox")
        path = f"/v1/events/stream?stream=sandbox:{values['sandbox']}&after=0"
        headers = {"Authorization": f"Bearer token-of-{who}"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.ws_connect(f"{things.team.atoll.url}{path}") as socket,
        ):
            closed = await socket.receive(timeout=5)
        answer = await things.team.call(who, "GET", path)
        told = (str(closed.extra), answer.text)
        answers.append((closed.data, answer.status_code, *(_masked(one, values) for one in told)))
    assert answers[0] == answers[1]
    assert answers[0][:2] == (4403, 422)


@pytest.mark.parametrize("who", STRANGERS)
async def test_no_list_of_somebody_else_shows_an_id(things: Things, who: str) -> None:
    known = {"acme", "t_1", "e_1", "r_1", "c_1", "1", "8000", KEY}
    hidden = set(things.ids.values()) - known
    if who == "bob":
        hidden -= {things.ids[name] for name in OF_THE_ORGANIZATION}
    async with things.team.client(who) as client:
        for operation in OPERATIONS:
            if operation.method != "GET" or operation.names() or "stream" in operation.path:
                continue
            answer = await client.get(operation.path, params=_query(operation))
            assert {one for one in hidden if one in answer.text} == set(), operation.name
