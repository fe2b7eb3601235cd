"""Two clients do random things to the same few sandboxes; the server fails none of them.

The seed is printed: ATOLL_STORM_SEED repeats a run, as far as a race can be repeated.
ATOLL_STORM_SECONDS makes it longer.
"""

import os
import random
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx
import pytest
from websockets.sync.client import connect

from atoll.testing.server import TestServer, test_server
from tests.bounds import patience, rounds
from tests.peers.remains import changed, pids_of, remains, uids_of

SECONDS = patience("ATOLL_STORM_SECONDS", 60)
ACTS = 25
"""Of each client, in the usual run."""

SEED = int(os.environ.get("ATOLL_STORM_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
MOST_SANDBOXES = 4
REQUEST_SECONDS = 90.0
LATER = "not_ready"
"""The only 503 there may be, before a sandbox is ready; it says when to try again. One that the
other client ends during a call is a 409."""

pytestmark = pytest.mark.timeout(SECONDS + 300)


@dataclass
class Client:
    """One client: what it may do, at random, and what it was answered."""

    server: TestServer
    dice: random.Random
    faults: list[str] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)

    def run(self) -> None:
        """Do one thing after another."""
        headers = {"Authorization": f"Bearer {self.server.token}"}
        acts: list[Callable[[httpx.Client], None]] = [
            *(self.create, self.execute, self.execute, self.attach, self.pull),
            *(self.act("stop"), self.act("start"), self.act("recreate"), self.act("destroy")),
        ]
        with httpx.Client(
            base_url=self.server.url, headers=headers, timeout=REQUEST_SECONDS
        ) as client:
            for _ in rounds("ATOLL_STORM_SECONDS", ACTS):
                try:
                    self.dice.choice(acts)(client)
                except httpx.HTTPError as error:
                    self.faults.append(repr(error))

    def create(self, client: httpx.Client) -> None:
        if len(self._sandboxes(client)) < MOST_SANDBOXES:
            wait = self.dice.choice(("?wait=ready", ""))
            self._call(client, "POST", f"/v1/sandboxes{wait}", {"profile": "shell"})

    def execute(self, client: httpx.Client) -> None:
        line = self.dice.choice(
            ("echo x", "setsid sleep 1000 & echo x", "head -c 200000 /dev/zero")
        )
        self._on_any(client, "POST", "exec", {"shell": line, "timeout": 20})

    def pull(self, client: httpx.Client) -> None:
        self._on_any(client, "GET", "files/archive?path=.")

    def act(self, verb: str) -> Callable[[httpx.Client], None]:
        return lambda client: self._on_any(client, "POST", f"{verb}?wait=true")

    def attach(self, client: httpx.Client) -> None:
        sandbox = self._any(client)
        made = sandbox and self._call(client, "POST", f"/v1/sandboxes/{sandbox}/terminals", {})
        if not made or not made.is_success:
            return
        terminal = made.json()["terminal_id"]
        url = f"{self.server.url}/v1/sandboxes/{sandbox}/terminals/{terminal}/attach"
        headers = {"Authorization": f"Bearer {self.server.token}"}
        try:
            with connect(url.replace("http", "ws", 1), additional_headers=headers) as socket:
                socket.send(b"echo he''re\r")
                socket.recv(timeout=20)
        except (OSError, EOFError, Exception) as error:  # noqa: BLE001  sorted out right below
            self._closed(error)

    def _closed(self, error: Exception) -> None:
        """A connection may end with its sandbox; the server must not have failed."""
        if "HTTP 500" in str(error) or "1011" in str(error):
            self.faults.append(f"attach: {error!r}")
        self.answers[f"attach {type(error).__name__}"] += 1

    def _sandboxes(self, client: httpx.Client) -> list[str]:
        found = self._call(client, "GET", "/v1/sandboxes?limit=100")
        rows = found.json()["sandboxes"] if found.is_success else []
        return [row["sandbox_id"] for row in rows if row["state"] != "destroyed"]

    def _any(self, client: httpx.Client) -> str:
        return self.dice.choice(self._sandboxes(client) or [""])

    def _on_any(
        self, client: httpx.Client, method: str, path: str, body: object | None = None
    ) -> None:
        if sandbox := self._any(client):
            self._call(client, method, f"/v1/sandboxes/{sandbox}/{path}", body)

    def _call(
        self, client: httpx.Client, method: str, path: str, body: object | None = None
    ) -> httpx.Response:
        answer = client.request(method, path, json=body)
        self.answers[
            f"{method} {path.rpartition('/')[2].partition('?')[0][:12]} {answer.status_code}"
        ] += 1
        if answer.status_code >= 500 and not _try_again(answer):
            self.faults.append(
                f"{method} {path}: {answer.status_code} {answer.json().get('detail')}"
            )
        return answer


def test_two_clients_at_once_meet_no_failure_and_leave_nothing(
    summary: Callable[[str], None],
) -> None:
    summary(f"storm: ATOLL_STORM_SEED={SEED}")
    with test_server() as server:
        before = remains(server.home)
        clients = [Client(server, random.Random(SEED + number)) for number in range(2)]
        threads = [threading.Thread(target=client.run) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        told = sum((client.answers for client in clients), Counter[str]())
        print(*sorted(told.items()), sep="\n")
        faults = [fault for client in clients for fault in client.faults]
        assert not faults, "\n".join([f"seed {SEED}", *faults])
        assert sum(told.values()) > 10
        uids = uids_of(server.home)
        _destroy_all(server)
        assert changed(server.home, before, uids, seconds=90) == {}
        assert pids_of(uids) == []


def _try_again(answer: httpx.Response) -> bool:
    return (
        answer.status_code == 503
        and answer.json().get("code") == LATER
        and answer.headers.get("Retry-After") == "1"
    )


def _destroy_all(server: TestServer) -> None:
    headers = {"Authorization": f"Bearer {server.token}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=REQUEST_SECONDS) as client:
        for row in client.get("/v1/sandboxes?limit=100").json()["sandboxes"]:
            done = client.post(f"/v1/sandboxes/{row['sandbox_id']}/destroy?wait=true")
            assert done.is_success, done.text
