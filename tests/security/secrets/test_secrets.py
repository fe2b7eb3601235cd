"""Secrets and approvals of a whole Atoll under attack: from inside, from the API, on the disk."""

import asyncio
import json
import os
import pty
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from atoll.testing.model_server import model_server
from atoll.testing.server import TestServer, atoll_command, test_server
from tests.peers.api import Api, api_of, until

PROVIDER = "sk-canary-provider-7f3a9c21e5"
CUSTOM = "canary-custom-4Qz8Lm2Xw0"
EXPOSED = "canary-exposed-9Hs3Tb6Vy1"
CANARIES = (PROVIDER, CUSTOM, EXPOSED)
ASK = "curl -s -m 5 'http://127.0.0.1:8082/broker/custom/MINE?target=https://{host}/x'"


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with test_server() as one:
        yield one


@pytest.fixture(scope="module")
def api(server: TestServer) -> Iterator[Api]:
    """With a custom secret, a provider's key and an exposed one, and a sandbox named box."""
    with api_of(server) as one:
        for name, body in (
            ("KEY", {"value": PROVIDER, "kind": "provider", "provider": "openai"}),
            ("MINE", {"value": CUSTOM, "env": "MINE_TOKEN"}),
            ("DB", {"value": EXPOSED, "kind": "env", "env": "DB", "broker_protected": False}),
        ):
            one.call("PUT", f"/v1/secrets/{name}", json=body)
        one.create(name="box")
        yield one


def pending(api: Api) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.call("GET", "/v1/approvals?state=pending")["approvals"]
    return found


def asked(api: Api, host: str) -> dict[str, Any]:
    """The approval that a request from inside to `host` leads to."""
    refused = json.loads(api.run("box", ASK.format(host=host)))
    assert (refused["error"], refused["domain"]) == ("domain_not_approved", host)
    found = until(
        lambda: [one for one in pending(api) if one["subject"]["host"] == host], bool, seconds=5
    )
    return found[0]


@contextmanager
def browser(server: TestServer, api: Api) -> Iterator[httpx.Client]:
    """A person's browser, logged in."""
    ticket = api.call("POST", "/auth/tickets")["ticket"]
    origin = {"Origin": server.url}
    with httpx.Client(base_url=server.url, headers=origin, timeout=30) as client:
        answer = client.post("/auth/login", json={"ticket": ticket})
        assert answer.is_success, answer.text
        client.headers["Atoll-Page-Key"] = answer.json()["page_key"]
        yield client


def test_no_value_is_inside_but_the_exposed_one_and_that_is_masked(api: Api) -> None:
    hunt = (
        "for v in provider-7f3a9c21e5 custom-4Qz8Lm2Xw0; do "
        'grep -l "canary-$v" /proc/[0-9]*/environ; '
        'grep -rl "canary-$v" /workspace /home /tmp /etc /run /.atoll; done 2>/dev/null | wc -l'
    )
    assert api.run("box", hunt).strip() == "0"
    inside = api.run("box", 'env; printf %s "$DB" | wc -c')
    assert str(len(EXPOSED)) in inside
    assert "MINE_TOKEN=atoll-placeholder" in inside and "DB=****" in inside
    assert not any(value in inside for value in CANARIES)
    assert api.sandbox("box")["exposed_secrets"] == ["DB"]


def test_new_value_is_in_new_processes_of_a_live_sandbox(api: Api) -> None:
    api.call("PUT", "/v1/secrets/LIVE", json={"value": "Zx81-first-value", "env": "LIVE"})
    assert "atoll-placeholder-LIVE" in api.run("box", "echo $LIVE $LIVE_BROKER_URL")
    api.call("DELETE", "/v1/secrets/LIVE")
    assert api.run("box", 'echo "[$LIVE]"').strip() == "[]"


def test_terminal_opened_later_has_the_variables_too(api: Api) -> None:
    api.call("PUT", "/v1/secrets/TERM_ONE", json={"value": "Zx81-other-value", "env": "T_ONE"})
    api.terminal("box", "/bin/sh", "-c", 'printf %s "$T_ONE" > /workspace/seen')
    seen = until(lambda: api.run("box", "cat seen 2>/dev/null || true"), bool)
    assert seen == "atoll-placeholder-TERM_ONE-no-value-inside"


def test_only_a_present_person_approves(server: TestServer, api: Api) -> None:
    one = asked(api, "only-a-person.example.com")
    path = f"/v1/approvals/{one['approval_id']}/approve"
    yes = {"for": "sandbox", "shown": one["digest"]}
    bearer = {"Authorization": f"Bearer {server.token}"}
    with httpx.Client(base_url=server.url, timeout=30) as client:
        tries = [
            client.post(path, json=yes, headers=bearer),
            client.post(path, json=yes),
            client.post(path, json={**yes, "words": "bada-bada"}, headers=bearer),
            client.post(path, json=yes, headers={**bearer, "X-Atoll-Interactive": "true"}),
            client.post(path, json={**yes, "interactive": True}, headers=bearer),
        ]
    assert [one.status_code for one in tries] == [403, 401, 403, 403, 422]
    with browser(server, api) as person:
        wrong = person.post(path, json={**yes, "shown": "0" * 64})
        foreign = person.post(path, json=yes, headers={"Origin": "http://127.0.0.1:1"})
        right = person.post(path, json=yes)
    assert (wrong.status_code, wrong.json()["code"]) == (409, "not_as_shown")
    assert foreign.status_code == 403
    assert right.json()["state"] == "granted"


def test_nothing_inside_reaches_the_api(server: TestServer, api: Api) -> None:
    port = server.url.rsplit(":", 1)[1]
    line = (
        f"curl -s -m 3 -o /dev/null -w %{{http_code}} http://127.0.0.1:{port}/v1/approvals || true"
    )
    assert api.run("box", line).strip() == "000"
    proxied = api.run("box", f"curl -s -m 3 -x http://127.0.0.1:3128 {server.url}/healthz || true")
    assert "ok" not in proxied.lower().split()


def test_person_at_a_terminal_approves_by_the_words(server: TestServer, api: Api) -> None:
    one = asked(api, "by-words.example.com")
    refused = server.run("approve", one["approval_id"], stdin=None, input="yes\n")
    assert refused.returncode != 0 and "person at a terminal" in refused.stderr
    said = _at_a_terminal(server, "approve", one["approval_id"], "--for", "sandbox")
    assert "to https://by-words.example.com:443" in said
    state = api.call("GET", f"/v1/approvals/{one['approval_id']}")
    assert (state["state"], state["for"]) == ("granted", "sandbox")
    refusal = json.loads(api.run("box", ASK.format(host="by-words.example.com")))
    assert refusal["error"] != "domain_not_approved"
    assert server.run("revoke", one["approval_id"]).returncode == 0
    assert "domain_not_approved" in api.run("box", ASK.format(host="by-words.example.com"))


def _at_a_terminal(server: TestServer, *words: str) -> str:
    """What a command says to a person who types the words they are shown."""
    pid, master = pty.fork()
    if pid == 0:
        env = {**os.environ, "ATOLL_HOME": str(server.home)}
        os.execve(atoll_command(), ["atoll", *words], env)
    said = b""
    typed = False
    try:
        while piece := os.read(master, 4096):
            said += piece
            shown = re.search(rb"type: ([a-z-]+)\r\n.*Words", said, re.DOTALL)
            if shown and not typed:
                os.write(master, shown[1] + b"\n")
                typed = True
    except OSError:
        pass  # a terminal whose program ended
    finally:
        os.close(master)
    assert os.waitpid(pid, 0)[1] == 0, said
    return said.decode()


def test_rotation_takes_back_what_was_approved(server: TestServer, api: Api) -> None:
    one = asked(api, "rotated.example.com")
    with browser(server, api) as person:
        path = f"/v1/approvals/{one['approval_id']}/approve"
        person.post(path, json={"for": "organization", "shown": one["digest"]})
    assert "domain_not_approved" not in api.run("box", ASK.format(host="rotated.example.com"))
    api.call("POST", "/v1/secrets/MINE/rotate", json={"value": CUSTOM + "-2"})
    assert "domain_not_approved" in api.run("box", ASK.format(host="rotated.example.com"))
    assert api.call("GET", f"/v1/approvals/{one['approval_id']}")["state"] == "revoked"


async def test_broker_of_a_live_sandbox_has_the_key_of_the_moment(api: Api) -> None:
    ask = (
        "curl -s -o /dev/null -w %{http_code} -m 10 -H 'Authorization: Bearer mine' "
        "$ANTHROPIC_BASE_URL/v1/models"
    )
    async with model_server("right-canary-5Rt6Yu7") as model:
        body = {"kind": "provider", "provider": "anthropic", "base_url": model.url}
        steps = [
            ("PUT", "/v1/secrets/GATE", {**body, "value": "wrong-canary-5Rt6Yu7"}, "401"),
            ("POST", "/v1/secrets/GATE/rotate", {"value": "right-canary-5Rt6Yu7"}, "200"),
            ("DELETE", "/v1/secrets/GATE", None, "404"),
        ]
        for method, path, sent, status in steps:
            await asyncio.to_thread(api.call, method, path, json=sent)
            assert (await asyncio.to_thread(api.run, "box", ask)).strip() == status


def test_flood_of_questions_stays_a_short_list(api: Api) -> None:
    hosts = " ".join(f"flood{number}.example.com" for number in range(40))
    line = (
        f"for h in {hosts}; do {ASK.format(host='$h').replace(chr(39), chr(34))} >/dev/null; done"
    )
    api.run("box", line)
    api.run("box", line)
    until(lambda: len(pending(api)), lambda count: count > 3, seconds=5)
    assert len(pending(api)) <= 10  # five a minute, and the test may see two of them


def test_no_value_is_on_the_disk_in_a_log_or_in_an_event(server: TestServer, api: Api) -> None:
    events = api.client.get("/v1/events", params={"limit": 1000}).text
    listed = api.client.get("/v1/secrets").text
    logs = api.client.get("/v1/sandboxes/box/logs").text
    assert not any(value in events + listed + logs for value in CANARIES)
    files = [path for path in server.home.parent.rglob("*") if path.is_file()]
    assert (server.home / "master.key") in files
    for path in files:
        if path.is_symlink() or path.stat().st_size > 1 << 28:
            continue
        data = path.read_bytes()
        assert not any(value.encode() in data for value in CANARIES), path


def test_nobody_else_may_read_the_master_key(server: TestServer) -> None:
    status = (server.home / "master.key").stat()
    assert status.st_mode & 0o077 == 0
    assert status.st_uid != 0 or os.geteuid() != 0


def test_tampered_value_opens_nowhere_and_says_so_without_it(server: TestServer, api: Api) -> None:
    api.call("PUT", "/v1/secrets/TWIN", json={"value": "canary-twin-8Gk2Pf5Rj7"})
    server.kill()
    _swap(server.home / "atoll.db", "TWIN", "MINE")
    server.start()
    with api_of(server) as again:
        for ref in ("TWIN", "MINE"):
            answer = again.client.post(f"/v1/secrets/{ref}/rotate", json={"value": CUSTOM + "-3"})
            assert (answer.status_code, answer.json()["code"]) == (502, "vault_sealed")
            assert "canary" not in answer.text.replace("canary-custom", "")
        needs = {"setup_metadata": {"secret_refs": ["MINE"]}}
        made = again.call("POST", "/v1/sandboxes?wait=ready", json=needs)
        assert made["state"] == "failed" and "cannot be opened" in made["reason"]
        refused = again.run("box", ASK.format(host="rotated.example.com"))
        assert "unknown" in refused
    assert not any(value in server.log.read_text() for value in CANARIES)


def _swap(path: Path, *names: str) -> None:
    """Put the sealed values of two secrets in each other's rows."""
    with sqlite3.connect(path) as db:
        ids = [
            db.execute("SELECT id FROM secrets WHERE name = ?", (name,)).fetchone()[0]
            for name in names
        ]
        rows = {
            one: db.execute(
                "SELECT wrapped, sealed FROM secret_values WHERE secret_id = ?", (one,)
            ).fetchone()
            for one in ids
        }
        for one, other in zip(ids, reversed(ids), strict=True):
            db.execute(
                "UPDATE secret_values SET wrapped = ?, sealed = ? WHERE secret_id = ?",
                (*rows[other], one),
            )
    db.close()
