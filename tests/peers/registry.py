"""A registry speaking the distribution API on loopback: a token service, manifests, blobs, and a
redirect for blobs as the big ones have it."""

import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

TOKEN = "registry-token"


@dataclass
class Registry:
    """`blobs` by digest, `tags` as (repository, tag) → digest of a manifest. With `private` it
    wants the token of its own service. `spoil` names a digest whose bytes come changed.
    `seen` are (path, Authorization) of every request."""

    port: int = 0
    private: bool = False
    spoil: str = ""
    blobs: dict[str, bytes] = field(default_factory=dict)
    tags: dict[tuple[str, str], str] = field(default_factory=dict)
    seen: list[tuple[str, str | None]] = field(default_factory=list)

    def add(self, data: bytes) -> str:
        """Keep a blob; its digest."""
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self.blobs[digest] = data
        return digest

    def reference(self, repository: str, tag: str) -> str:
        """How it is pulled."""
        return f"127.0.0.1:{self.port}/{repository}:{tag}"

    def answer(self, path: str, authorization: str | None) -> tuple[int, dict[str, str], bytes]:
        """One GET."""
        self.seen.append((path, authorization))
        parts = urlsplit(path)
        words = parts.path.strip("/").split("/")
        if words[0] == "token":
            asked = parse_qs(parts.query)
            assert asked["service"] == ["here"] and asked["scope"], asked
            return 200, {}, json.dumps({"token": TOKEN}).encode()
        if words[0] == "elsewhere":
            # Where a redirect leads: it must be given no credential.
            return (400 if authorization else 200), {}, self._bytes(words[1])
        if self.private and authorization != f"Bearer {TOKEN}":
            realm = f'Bearer realm="http://127.0.0.1:{self.port}/token"'
            scope = f"repository:{'/'.join(words[1:-2])}:pull"
            return 401, {"WWW-Authenticate": f'{realm},service="here",scope="{scope}"'}, b""
        if parts.path == "/v2/":
            return 200, {}, b"{}"
        repository, kind, name = "/".join(words[1:-2]), words[-2], words[-1]
        if kind == "manifests":
            digest = self.tags.get((repository, name), name)
            found = self.blobs.get(digest)
            if found is None:
                return 404, {}, b""
            kind = json.loads(found).get("mediaType", "application/json")
            return 200, {"Content-Type": kind, "Docker-Content-Digest": digest}, self._bytes(digest)
        if name not in self.blobs:
            return 404, {}, b""
        return 307, {"Location": f"http://127.0.0.1:{self.port}/elsewhere/{name}"}, b""

    def _bytes(self, digest: str) -> bytes:
        data = self.blobs[digest]
        return bytes([data[0] ^ 1]) + data[1:] if digest == self.spoil else data


@contextmanager
def registry(*, private: bool = False) -> Iterator[Registry]:
    """One that listens."""
    held = Registry(private=private)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, data = held.answer(self.path, self.headers["Authorization"])
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

        do_HEAD = do_GET

        def log_message(self, *_words: object) -> None:
            """Quiet."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    held.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield held
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
