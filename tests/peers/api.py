"""The HTTP API as a plain script would use it: one call a line, waiting included."""

import asyncio
import base64
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx

from atoll.testing.server import TestServer
from atoll.wire.zygote import messages as wire
from atoll.wiring.launch import zygote_process
from atoll.zygote.host.home import Home

WAIT_SECONDS = 240
"""For one change of state. The server's own 60 s pass on a busy machine, and the answer is then
a sandbox that is still being provisioned, to which the next call is a 503."""
T = TypeVar("T")

SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.25
PAUSES_SHARE = 1 / 20
"""Of the time that has passed already."""


class Pauses:
    """The pauses between looks at something that announces itself to nobody, from now on.

    A look costs a request or even a process. So pauses grow with the time that has passed: looking
    takes a bounded share of a long wait, and what happens is seen soon after it did.
    """

    def __init__(self) -> None:
        self._begun = time.monotonic()

    def seconds(self) -> float:
        """Return how long the next pause is."""
        passed = time.monotonic() - self._begun
        return min(LONGEST_PAUSE, max(SHORTEST_PAUSE, passed * PAUSES_SHARE))

    def sleep(self) -> None:
        """Pause this thread."""
        time.sleep(self.seconds())

    async def wait(self) -> None:
        """Pause this task."""
        await asyncio.sleep(self.seconds())


class Api:
    """Calls one server; every refusal is an assertion with the problem's text."""

    def __init__(self, server: TestServer) -> None:
        self.server = server
        self.headers = {"Authorization": f"Bearer {server.token}"}
        self.client = httpx.Client(
            base_url=server.url,
            headers=self.headers,
            timeout=WAIT_SECONDS + 10,
            verify=False,  # nothing here is TLS, whose certificates take a while to load
        )

    def call(self, method: str, path: str, **more: Any) -> Any:
        answer = self.client.request(method, path, **more)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def create(self, **body: Any) -> dict[str, Any]:
        """A sandbox that is ready."""
        told: dict[str, Any] = self.call(
            "POST",
            f"/v1/sandboxes?wait=ready&timeout={WAIT_SECONDS}",
            json={"profile": "shell", **body},
        )
        assert told["state"] == "ready", told
        return told

    def sandbox(self, sandbox: str) -> dict[str, Any]:
        told: dict[str, Any] = self.call("GET", f"/v1/sandboxes/{sandbox}")
        return told

    def act(self, sandbox: str, verb: str) -> dict[str, Any]:
        """stop, start, recreate, destroy: done when this returns."""
        told: dict[str, Any] = self.call(
            "POST", f"/v1/sandboxes/{sandbox}/{verb}?wait=true&timeout={WAIT_SECONDS}"
        )
        assert told["state"] not in ("requested", "provisioning", "destroying"), told
        return told

    def run(self, sandbox: str, line: str, **more: Any) -> str:
        """What a shell line prints; it must succeed."""
        told = self.call("POST", f"/v1/sandboxes/{sandbox}/exec", json={"shell": line, **more})
        said = base64.b64decode(told["stdout"]) + base64.b64decode(told["stderr"])
        assert told["exit_code"] == 0, said
        return said.decode()

    def terminal(self, sandbox: str, *argv: str) -> str:
        body = {"argv": list(argv)} if argv else {}
        told = self.call("POST", f"/v1/sandboxes/{sandbox}/terminals", json=body)
        return str(told["terminal_id"])

    def attach_url(self, sandbox: str, terminal: str) -> str:
        return f"{self.server.url}/v1/sandboxes/{sandbox}/terminals/{terminal}/attach"

    def events(self, sandbox: str) -> list[dict[str, Any]]:
        """Everything the log says about a sandbox."""
        found: list[dict[str, Any]] = []
        after = 0
        while True:
            query = {"stream": f"sandbox:{sandbox}", "after": after, "limit": 100}
            page = self.call("GET", "/v1/events", params=query)
            if not page["events"]:
                return found
            found += page["events"]
            after = page["next"]

    def until(
        self, sandbox: str, holds: Callable[[dict[str, Any]], bool], seconds: float = 90
    ) -> dict[str, Any]:
        """The sandbox once something holds of it."""
        return until(lambda: self.sandbox(sandbox), holds, seconds)

    def box(self, sandbox: str) -> wire.Box:
        """The sandbox as the zygote knows it."""
        answer = zygote_process.ask(Home(self.server.home), wire.ListBoxes())
        assert isinstance(answer, wire.Listed)
        return next(box for box in answer.boxes if box.sandbox_id == sandbox)


def until(look: Callable[[], T], holds: Callable[[T], bool], seconds: float = 90) -> T:
    """Look again and again until it holds; what was seen then."""
    deadline, pauses = time.monotonic() + seconds, Pauses()
    while not holds(seen := look()):
        assert time.monotonic() < deadline, f"after {seconds} s still {seen}"
        pauses.sleep()
    return seen


@contextmanager
def api_of(server: TestServer) -> Iterator[Api]:
    """An `Api`, closed at the end."""
    api = Api(server)
    try:
        yield api
    finally:
        api.client.close()
