"""The Atoll under attack: raw requests with any header, and one sandbox made for this."""

import base64
import contextlib
import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlsplit

from atoll.domain.errors import Failed

SECONDS = 60.0
LONGEST_SECONDS = 600.0
MAX_ANSWER = 8 << 20


@dataclass(frozen=True, slots=True)
class AttackResponse:
    """A response: a status, or 0 where the connection was closed without one."""

    status: int
    body: bytes

    @property
    def document(self) -> Any:
        """The JSON of the response, None when it has none."""
        with contextlib.suppress(ValueError):
            return json.loads(self.body)
        return None


@dataclass(frozen=True, slots=True)
class AttackTarget:
    """A server under attack, and the sandbox there once it is made. Every response is kept, to be
    searched at the end."""

    url: str
    token: str
    sandbox: str = ""
    responses: list[bytes] = field(default_factory=list)

    @property
    def place(self) -> tuple[str, int]:
        """The host and port."""
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        seconds: float = SECONDS,
    ) -> AttackResponse:
        """Send a request with the valid token, or with `headers` in its place. Bytes go unchanged,
        anything else as JSON."""
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        head = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        head = {name: value for name, value in head.items() if value}
        secure = self.url.startswith("https:")
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(*self.place, timeout=seconds)
        try:
            connection.request(method, urlsplit(self.url).path.rstrip("/") + path, sent, head)
            response = connection.getresponse()
            answer = AttackResponse(response.status, response.read(MAX_ANSWER))
        except TimeoutError:
            raise
        except (OSError, http.client.HTTPException):
            answer = AttackResponse(0, b"")
        finally:
            connection.close()
        self.responses.append(answer.body)
        return answer

    def here(self, path: str) -> str:
        """Return a path of the sandbox."""
        return f"/v1/sandboxes/{self.sandbox}{path}"

    def must(self, method: str, path: str, body: object = None) -> Any:
        """Send a request that has to succeed; return its JSON. Raises `Failed` with the server's
        words."""
        answer = self.ask(method, path, body, seconds=LONGEST_SECONDS)
        if not 200 <= answer.status < 300:
            problem = answer.body.decode(errors="replace")[:500]
            raise Failed(f"{method} {path} was answered {answer.status}: {problem}")
        return answer.document

    def run(self, *argv: str, timeout: float = LONGEST_SECONDS) -> str:
        """Run a command inside; return its output. Raises `Failed` when it does not succeed."""
        body = {"argv": [*argv], "timeout": timeout, "max_output_bytes": MAX_ANSWER}
        outcome = self.must("POST", self.here("/exec"), body)
        output = base64.b64decode(outcome["stdout"]).decode(errors="replace")
        if outcome["exit_code"] != 0:
            more = base64.b64decode(outcome["stderr"]).decode(errors="replace")
            how = outcome["signal"] or outcome["exit_code"]
            words = (output + more)[-1000:]
            raise Failed(f"{argv[0]} inside ended by {how}, and said last: {words}")
        return output

    def put(self, path: str, data: bytes) -> None:
        """Write a file in the workspace."""
        self.must("PUT", self.here(f"/files/content?path={quote(path)}"), data)

    def raw(self, request: bytes) -> AttackResponse:
        """Send bytes unchanged, to a plain http server."""
        try:
            with socket.create_connection(self.place, SECONDS) as link:
                link.sendall(request)
                reply = link.recv(65536)
        except OSError:
            reply = b""
        words = reply.split(b" ", 2)
        self.responses.append(reply)
        return AttackResponse(int(words[1]) if len(words) > 1 and words[1].isdigit() else 0, reply)


@contextlib.contextmanager
def sandbox_of(
    server: AttackTarget, profile: str, *, keep: bool = False
) -> Iterator[tuple[AttackTarget, dict[str, Any]]]:
    """Make a sandbox for the attempts, and remove it afterwards; yield it as a target, and its
    record. Raises `Failed` when it does not start."""
    body = {"profile": profile, "ttl": "1h"}
    record = server.must("POST", "/v1/sandboxes?wait=ready", body)
    target = replace(server, sandbox=record["sandbox_id"])
    try:
        if record["state"] not in ("ready", "active"):
            raise Failed(f"sandbox {target.sandbox} is {record['state']}: {record.get('reason')}")
        yield target, record
    finally:
        if not keep:
            target.ask("DELETE", target.here("?wait=true"), seconds=LONGEST_SECONDS)
