"""The real server over real sandboxes, asked by the OpenAPI document. What an answer names is used
in later requests, several are sent at once. No answer is a server error, each fits its schema.

Requests follow from a seed that changes every day, which the summary prints. `ATOLL_HTTP_SEED`
repeats those of another day, `ATOLL_HTTP_SECONDS` asks for longer.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from atoll.testing.server import test_server
from tests.bounds import patience, rounds
from tests.peers.api import Api, api_of
from tests.peers.databases.postgres import PostgresServer
from tests.places import ROOT

DOCUMENT = ROOT / "docs" / "openapi.json"
SEED = int(os.environ.get("ATOLL_HTTP_SEED") or datetime.now(UTC).strftime("%Y%m%d"))
SECONDS = patience("ATOLL_HTTP_SECONDS", 60)
ROUNDS = 4
"""In the usual run: 36 requests each."""

AT_ONCE = 3
WALKS, STEPS = 3, 4
"""Walks of one round, and steps of a walk. A round's seed follows from the first."""

ANSWER_SECONDS = 100
OFTEN = 0.8
RARELY = 0.3
NAMED_BY = {
    "session": "sandbox_id", "sandbox": "sandbox_id", "command": "exec_id", "agent": "terminal_id",
    "pty": "terminal_id", "terminal": "terminal_id", "recording": "recording_id",
    "approval": "approval_id", "share": "share_id", "secret": "name", "profile": "name",
}  # fmt: skip
"""Which field of an earlier answer fills a parameter of a path."""

LIKELY: dict[str, list[Any]] = {
    "profile": ["shell", "profile.shell"],
    # One of them is slow: what it prints comes in two parts.
    "argv": [["true"], ["sh"], ["sh", "-c", "echo out; sleep 1; echo err >&2"], ["no-such"]],
    "shell": ["echo hello", "exit 3", "cat"],
    "stdin": ["", "aGVsbG8="],
    "env": [{}, {"A": "b"}],
    "cols": [1, 80, 1000],
    "rows": [1, 24, 500],
    "cwd": ["/workspace", "/", "/no/such"],
    "signal": ["INT", "TERM", "KILL"],
    "wait": ["ready", "true"],
    "timeout": [0.2, 2],
    "path": [".", "a", "a/b", "..", "/etc/passwd"],
    "latest": ["true"],
    "workspace": [{}],
    "repos": [[]],
    "scope": ["sandbox", "personal"],
    "value": ["a-secret-value-of-a-test"],
    "name": ["one", "two", "THREE"],
}
"""What a person would send; without it nearly every request is refused for its form."""

CROOKED = ("", ".", "..")
"""Names of which a client makes the path of another operation."""

ENDING = {
    "DELETE /v1/sandboxes/{sandbox}",
    "DELETE /sessions/{session}",
    "POST /v1/sandboxes/{sandbox}/destroy",
    "POST /v1/sandboxes/{sandbox}/stop",
    "POST /v1/sandboxes/{sandbox}/recreate",
}
"""Rarer than the others, since most need a sandbox that runs."""

ELSEWHERE = {
    "POST /v1/repositories/fetch",
    "POST /v1/webhooks",
    "PATCH /v1/webhooks/{webhook}",
}
"""May say 502 or 503: what they ask for lies on other machines, as do the names of those."""

NOT_READY = "not_ready"
"""The code of a 503 that is right for a while: the sandbox is still being made. It says when."""

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@schemathesis.serializer("application/x-tar", "application/x-git-bundle")
def _raw(ctx: schemathesis.SerializationContext, value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


# Streams that go on for ever are tested with a reader; a logout would end the walk.
schema = schemathesis.openapi.from_path(DOCUMENT).exclude(
    path_regex=r"(/(stream|watch|output)|/auth/logout)$"
)


def strategies() -> dict[str, st.SearchStrategy[schemathesis.Case[Any]]]:
    """Return what draws requests of each operation, by its label."""
    found = {}
    for one in schema.get_all_operations():
        assert isinstance(one, Ok), one
        found[one.ok().label] = one.ok().as_strategy()
    return found


STRATEGIES = strategies()
OPERATIONS = sorted(STRATEGIES)


@dataclass
class Walk:
    """Requests to one server, what its answers named so far, and what was wrong with them."""

    api: Api
    names: dict[str, list[str]] = field(default_factory=dict)
    answered: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def stand(self) -> None:
        """Have a sandbox that runs, with a terminal: a walk may have ended all of them."""
        listed = self.api.call("GET", "/v1/sandboxes?state=ready")["sandboxes"]
        if not listed:
            for each in self.api.call("GET", "/v1/sandboxes")["sandboxes"]:
                self.api.client.post(f"/v1/sandboxes/{each['sandbox_id']}/destroy?wait=true")
            listed = [self.api.create()]
        self.learn(listed)
        at = f"/v1/sandboxes/{listed[0]['sandbox_id']}/terminals"
        self.learn(self.api.client.post(at, json={"argv": ["sh"]}).json())

    def fill(self, case: schemathesis.Case[Any], chance: Random) -> None:
        """Make a request likely to mean something now, by what is known."""
        for name, drawn in case.path_parameters.items():
            several = self.names.get(NAMED_BY.get(name, name))
            if several and chance.random() < OFTEN:
                case.path_parameters[name] = chance.choice(several)
            elif drawn in CROOKED:
                case.path_parameters[name] = "..."
        for place in (case.query, case.body):
            if not isinstance(place, dict):
                continue
            for name in sorted(LIKELY.keys() & place.keys()):
                if chance.random() < OFTEN:
                    place[name] = chance.choice(LIKELY[name])

    def send(self, case: schemathesis.Case[Any]) -> None:
        """Send a request and note what is wrong with its answer."""
        head = self.api.headers
        case.headers.update(head)
        try:
            url = self.api.server.url
            answer = case.call(base_url=url, headers=head, timeout=ANSWER_SECONDS)
        except requests.RequestException as error:
            self.wrong.append(f"{case.as_curl_command()}\n{error!r}")
            return
        self.answered[case.operation.label, answer.status_code] += 1
        try:
            right = case.operation.label in ELSEWHERE and answer.status_code in (502, 503)
            right = right or self._waits_for_a_sandbox(answer)
            case.validate_response(answer, checks=CHECKS[1:] if right else CHECKS)
        except (AssertionError, BaseExceptionGroup) as error:
            said = f"{answer.status_code} {answer.text[:1500]}\n{error!r}"
            self.wrong.append(f"{case.as_curl_command()}\n{said}")
        kind = answer.headers.get("content-type", [""])[0]
        # Lines of JSON are a stream, and no document.
        if "json" in kind and "ndjson" not in kind:
            self.learn(answer.json())

    def _waits_for_a_sandbox(self, answer: schemathesis.Response) -> bool:
        if answer.status_code != 503 or answer.json().get("code") != NOT_READY:
            return False
        return int(answer.headers["retry-after"][0]) > 0

    def learn(self, told: object) -> None:
        """Remember every field of an answer that names something."""
        if isinstance(told, list):
            for each in told[:20]:
                self.learn(each)
        if not isinstance(told, dict):
            return
        for key, value in told.items():
            if isinstance(value, str) and (key.endswith("_id") or key == "name"):
                several = self.names.setdefault(key, [])
                if value not in (*several, *CROOKED):
                    several.append(value)
                del several[:-12]
            self.learn(value)


@contextmanager
def api_on(**env: str) -> Iterator[Api]:
    with test_server({"ATOLL_MAX_SANDBOXES": "6", **env}) as server, api_of(server) as made:
        yield made


@pytest.mark.timeout(SECONDS * 4 + 300)
def test_walk_over_the_real_server_finds_no_server_error(summary: Callable[[str], None]) -> None:
    with api_on() as api:
        _walk(api, ROUNDS, summary)


@pytest.mark.slow
@pytest.mark.timeout(SECONDS * 4 + 300)
def test_walk_over_a_server_on_postgres_finds_none_either(
    postgres: PostgresServer, summary: Callable[[str], None]
) -> None:
    name = postgres.empty()
    try:
        with api_on(ATOLL_DATABASE_URL=postgres.url(name)) as api:
            _walk(api, ROUNDS, summary)
    finally:
        postgres.drop(name)


def _walk(api: Api, usual: int, summary: Callable[[str], None]) -> None:
    walk = Walk(api)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number in rounds("ATOLL_HTTP_SECONDS", usual):
            _round(walk, pool, SEED + number)
    sent, good = sum(walk.answered.values()), {of for of, status in walk.answered if status < 300}
    summary(f"http: {sent} requests, {len(good)} operations done, from seed {SEED} on")
    assert not walk.wrong, "\n\n".join(walk.wrong[:60])
    assert len(good) >= 10, "nearly nothing was granted: this saw hardly more than refusals"
    assert api.client.get("/healthz").status_code == 200


def _round(walk: Walk, pool: ThreadPoolExecutor, number: int) -> None:
    """Walk a few times from one seed on. Nothing is shrunk: the server is another one by then."""
    chance = Random(number)

    def walks(data: st.DataObject) -> None:
        walk.stand()
        order = Random(data.draw(st.integers(0, 2**64)))
        for _ in range(STEPS):
            cases = [data.draw(STRATEGIES[_operation(order)]) for _ in range(AT_ONCE)]
            for case in cases:
                walk.fill(case, chance)
            list(pool.map(walk.send, cases))

    options = settings(
        max_examples=WALKS,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    seed(number)(options(given(st.data())(walks)))()


def _operation(order: Random) -> str:
    label = order.choice(OPERATIONS)
    while label in ENDING and order.random() > RARELY:
        label = order.choice(OPERATIONS)
    return label
