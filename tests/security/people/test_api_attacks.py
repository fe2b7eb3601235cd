"""A whole Atoll attacked through its HTTP API, with an accomplice inside the sandbox."""

import base64
import contextlib
import http.client
import io
import json
import os
import re
import socket
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from atoll.testing.server import TestServer, test_server
from tests.places import ROOT

KEY = "sk-canary-7f3a9c21e5"
KEYS = f'[openai]\nkey = "{KEY}"\nbase_url = "http://127.0.0.1:9"\n'
SPEC = json.loads((ROOT / "docs" / "openapi.json").read_text())
PUBLIC = {"/healthz", "/readyz", "/auth/login", "/auth/guests", "/auth/invitations"}
PUBLIC |= {"/.well-known/oauth-protected-resource"}
PUBLIC |= {"/.well-known/jwks.json", "/auth/realms", "/auth/cli", "/auth/cli/poll"}
PUBLIC |= {"/auth/drive/callback"}
LEAK = re.compile(r'Traceback|File "|sqlalchemy|sqlite|site-packages|\.py\b')


@dataclass
class Attacker:
    """Speaks to the server, keeps every answer, and has a shell in one sandbox."""

    server: TestServer
    sandbox: str = ""
    answers: list[str] = field(default_factory=list)

    def ask(
        self, method: str, path: str, body: object = None, **headers: str
    ) -> tuple[int, dict[str, Any]]:
        """(status, JSON or {}) of one request; with the token unless `authorization` says else."""
        place = urlsplit(self.server.url)
        assert place.hostname is not None
        link = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
        given = {"authorization": f"Bearer {self.server.token}", **headers}
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        link.request(method, path, data, {k: v for k, v in given.items() if v})
        answer = link.getresponse()
        text = answer.read()
        link.close()
        self.answers.append(f"{method} {path} {answer.status} {text.decode(errors='replace')}")
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, {}

    def at(self, rest: str, method: str = "GET", body: object = None) -> tuple[int, dict[str, Any]]:
        """The same below the sandbox's own address."""
        return self.ask(method, f"/v1/sandboxes/{self.sandbox}/{rest}", body)

    def shell(self, line: str) -> str:
        """What a shell line inside prints."""
        status, done = self.at("exec", "POST", {"shell": line})
        assert status == 200, done
        return base64.b64decode(done["stdout"]).decode(errors="replace")

    def raw(self, said: bytes) -> bytes:
        """Raw bytes to the server, and all it answers."""
        place = urlsplit(self.server.url)
        with socket.create_connection((place.hostname or "", place.port or 0), 20) as link:
            heard = b""
            with contextlib.suppress(ConnectionError):
                link.sendall(said)
            with contextlib.suppress(ConnectionError):
                while piece := link.recv(65536):
                    heard += piece
        self.answers.append(heard.decode(errors="replace"))
        return heard


@pytest.fixture(scope="module")
def attacker() -> Iterator[Attacker]:
    with test_server(keys=KEYS) as server:
        found = Attacker(server)
        status, made = found.ask("POST", "/v1/sandboxes?wait=ready", {"profile": "shell"})
        assert status == 201, made
        found.sandbox = made["sandbox_id"]
        yield found


def routes() -> Iterator[tuple[str, str]]:
    for path, methods in SPEC["paths"].items():
        for method in methods:
            yield method.upper(), re.sub(r"\{\w+\}", "sb_aaaaaaaaaaaaaaaa", path)


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": ""},
        {"authorization": "Bearer wrong"},
        {"authorization": "Basic YTpi"},
        {"authorization": "", "cookie": "atoll_session=wrong"},
        {"authorization": "", "x-forwarded-user": "root", "x-forwarded-for": "127.0.0.1"},
    ],
)
def test_every_route_without_a_right_credential_is_closed(
    attacker: Attacker, headers: dict[str, str]
) -> None:
    for method, path in routes():
        if path in PUBLIC or path.startswith("/auth/oidc/"):
            continue
        status, said = attacker.ask(method, path, **headers)
        # What only trusted services reach is not there without a setting.
        closed = (404, "not_found") if path.startswith("/internal/") else (401, "unauthenticated")
        assert (status, said.get("code")) in {closed, (429, "limit_reached")}


@pytest.mark.parametrize(
    "line",
    [
        b"Host: evil.example",
        b"Host: 127.0.0.1.evil.example",
        b"Host: evil.example\r\nHost: 127.0.0.1",
        b"X: y",
        b"Host: 127.0.0.1@evil.example",
    ],
)
def test_a_name_that_is_not_ours_is_refused_with_the_right_token(
    attacker: Attacker, line: bytes
) -> None:
    token = attacker.server.token.encode()
    said = b"GET /v1/sandboxes HTTP/1.1\r\n" + line + b"\r\nConnection: close\r\n"
    heard = attacker.raw(said + b"Authorization: Bearer " + token + b"\r\n\r\n")
    assert heard.split(b" ", 2)[1] in {b"400", b"403", b"421"}


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", ""])
def test_attach_from_a_foreign_page_is_refused(attacker: Attacker, origin: str) -> None:
    _status, ticket = attacker.ask("POST", "/auth/tickets", {})
    place = urlsplit(attacker.server.url).netloc
    login = json.dumps({"ticket": ticket["ticket"]}).encode()
    heard = attacker.raw(
        f"POST /auth/login HTTP/1.1\r\nHost: {place}\r\nOrigin: http://{place}\r\n"
        f"Content-Length: {len(login)}\r\nConnection: close\r\n\r\n".encode()
        + login
    )
    cookie = re.search(rb"atoll_session=[^;]+", heard)
    assert cookie is not None
    assert b"HttpOnly" in heard
    heard = attacker.raw(
        f"GET /v1/sandboxes/{attacker.sandbox}/terminals/t_x/attach HTTP/1.1\r\nHost: {place}\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}\r\n"
        f"{f'Origin: {origin}' if origin else 'X: y'}\r\n".encode()
        + b"Cookie: " + cookie[0] + b"\r\n\r\n"
    )  # fmt: skip
    assert heard.split(b" ", 2)[1] == b"403"
    again, said = attacker.ask("POST", "/auth/login", {"ticket": ticket["ticket"]})
    assert (again, said["code"]) in {(401, "unauthenticated"), (429, "limit_reached")}
    assert ticket["ticket"] not in str(said)


HOSTILE_BODIES = {
    "deep": b"[" * 500_000,
    "deep object": b'{"a":' * 40 + b"1" + b"}" * 40,
    "not a number": b'{"profile":NaN}',
    "infinite": b'{"profile":1e999}',
    "twice": b'{"profile":"shell","profile":"x"}',
    "long number": b'{"profile":' + b"1" * 10_000 + b"}",
    "not text": b"\xff\xfe",
    "half a pair": b'{"profile":"\\ud800"}',
    "unknown field": b'{"profile":"shell","org_id":"other"}',
    "a list": b"[]",
    "escape in a name": b'{"profile":"shell","name":"\\u001b[31mx"}',
    "markup in a name": b'{"profile":"shell","name":"<img src=x>"}',
    "path in a name": b'{"profile":"shell","name":"../../x"}',
    "turned text": b'{"profile":"shell","name":"\\u202eabc"}',
    "title in the consumer": b'{"profile":"shell","consumer":{"actor":"adm",'
    b'"session_id":"\\u001b]0;x\\u0007"}}',
    "profile elsewhere": b'{"profile":"../../token"}',
}


@pytest.mark.parametrize("body", HOSTILE_BODIES.values(), ids=HOSTILE_BODIES.keys())
def test_create_with_a_hostile_body_is_refused(attacker: Attacker, body: bytes) -> None:
    status, said = attacker.ask("POST", "/v1/sandboxes", body)
    assert status in {404, 413, 422}
    assert said["detail"].isprintable()


NINE = b"".join(b"%c: &%c [%s]\n" % (98 + i, 98 + i, b"*a," * 9) for i in range(9))


@pytest.mark.parametrize(
    "text",
    [
        b"!!python/object/apply:os.system [id]",
        b"a: &a [x]\n" + NINE,
        b"[" * 60_000,
        b"{a: " * 15_000,
        b"a: 1\na: 2\n",
        b"<<: {a: 1}\nid: x\n",
        b"a: \0\xff",
        b"id: evil\nversion: 1.0.0\nsetup:\n  instructions: " + b"x" * 300_000,
        b"- " * 30_000,
    ],
)
def test_profile_with_hostile_yaml_is_refused(attacker: Attacker, text: bytes) -> None:
    status, _said = attacker.ask("PUT", "/v1/profiles/evil", text)
    assert status in {413, 422}
    assert attacker.ask("GET", "/v1/profiles/evil")[0] == 404


@pytest.mark.parametrize("name", ["..", "%2e%2e", "..%2f..%2ftoken", "a%00", "%0a", "x" * 5000])
def test_key_that_is_a_path_is_refused(attacker: Attacker, name: str) -> None:
    for method, path in (("GET", "profiles"), ("DELETE", "profiles"), ("GET", "sandboxes")):
        assert attacker.ask(method, f"/v1/{path}/{name}")[0] in {404, 405, 422}
    assert attacker.ask("PUT", f"/v1/repositories/local/{name}?name=x", b"junk")[0] in {
        404,
        405,
        422,
    }


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%5c..%5cx", "//etc/passwd",
             "/index.html%00", "/.env", "/index.html/../../page.py", "/assets"]
)  # fmt: skip
def test_static_file_outside_the_page_is_not_served(attacker: Attacker, path: str) -> None:
    assert attacker.ask("GET", path)[0] in {400, 403, 404, 422}
    assert attacker.ask("GET", path, authorization="")[0] in {400, 401, 403, 404, 422}


def test_split_header_and_long_head_do_not_reach_a_route(attacker: Attacker) -> None:
    host = urlsplit(attacker.server.url).netloc.encode()
    head = b"GET /healthz HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n"
    for extra in (
        b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"X: a\rY: b\r\n\r\n",
        b"X : a\r\n\r\n",
        b"X: " + b"a" * 3_000_000 + b"\r\n\r\n",
        b"".join(b"X%d: aaaaaaaaaaaaaaaa\r\n" % each for each in range(10_000)) + b"\r\n",
    ):
        assert b" 200 " not in attacker.raw(head + extra), extra[:40]


@pytest.fixture(scope="module")
def traps(attacker: Attacker) -> Attacker:
    attacker.shell(
        "cd /workspace; ln -s /etc/passwd l; ln -s / d; mkfifo f; ln -s /dev/zero z; "
        "mkdir loop; ln -s ../loop loop/loop; ln -s a b; ln -s b a; ln -s /proc/1/environ env; "
        "mkdir noperm; chmod 0 noperm; ln -s ../../../../etc up"
    )
    return attacker


LINKS = ["l", "d/etc/passwd", "z", "env", "a", "up/passwd", "d", "f"]
PATHS = ["../../etc/passwd", "%2e%2e%2fetc", "%252e%252e%252fetc", "....//x", "x/../../y",
         "/etc/passwd", "x%00.txt", "..%5C..%5Cx", "/workspace/../etc", "a" * 5000]  # fmt: skip


@pytest.mark.parametrize("path", LINKS + PATHS)
def test_file_that_leads_elsewhere_is_refused_at_once(traps: Attacker, path: str) -> None:
    assert traps.at(f"files/content?path={path}")[0] in {403, 404, 422}
    assert traps.at(f"files/archive?path={path}", "PUT", b"x")[0] in {403, 404, 409, 422}
    if path not in {"l", "z", "env", "a", "d", "f", "%252e%252e%252fetc"}:
        assert traps.at(f"files?recursive=true&path={path}", "DELETE")[0] in {403, 404, 422}
    if path != "%252e%252e%252fetc":
        assert traps.at(f"files/content?path={path}", "PUT", b"x")[0] in {403, 404, 409, 422}


def test_files_while_their_folder_is_swapped_for_a_link_never_show_the_system(
    traps: Attacker,
) -> None:
    traps.at("exec", "POST", {
        "shell": "cd /workspace; mkdir -p s; echo mine > s/passwd; "
                 "while :; do mv s t; ln -s /etc s; rm s; mv t s; done",
        "background": True, "timeout": 20,
    })  # fmt: skip
    before = traps.shell("md5sum /etc/passwd")
    for _ in range(40):
        traps.at("files/content?path=s/passwd")
        assert "agent:x:1000" not in traps.answers[-1]
        traps.at("files/content?path=s/new", "PUT", b"x")
        traps.at("files/archive?path=s")
        assert "agent:x:1000" not in traps.answers[-1]
    assert traps.shell("md5sum /etc/passwd; ls /etc/new 2>/dev/null") == before


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return held.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.mark.parametrize(
    "data",
    [
        archive((member("../evil"), b"x")),
        archive((member("/tmp/evil"), b"x")),
        archive((member("in", tarfile.SYMTYPE, "/tmp"), b""), (member("in/evil"), b"x")),
        archive((member("in2", tarfile.LNKTYPE, "../../etc/passwd"), b"")),
        archive((member("dev", tarfile.CHRTYPE), b"")),
        archive((member("d/tmp/evil"), b"x")),
        b"junk" * 1000,
        b"\x1f\x8b" + os.urandom(2000),
    ],
)
def test_archive_that_reaches_out_is_refused(traps: Attacker, data: bytes) -> None:
    assert traps.at("files/archive?path=", "PUT", data)[0] in {403, 409, 413, 422}
    assert traps.shell("ls /tmp/evil /evil 2>/dev/null") == ""


def test_names_of_any_bytes_are_listed_as_plain_json(traps: Attacker) -> None:
    names = [
        b"\x1b]0;x\x07",
        b"a\nb",
        b"-rf",
        b"<img src=x onerror=alert(1)>",
        b"\xff\xfe",
        b"$(id)",
    ]
    script = f"import os\nos.mkdir('odd')\nfor n in {names!r}: open(b'odd/' + n, 'w').close()"
    traps.at("exec", "POST", {"argv": ["/usr/bin/python3", "-c", script]})
    status, listed = traps.at("files?path=odd")
    assert status == 200
    assert len(listed["entries"]) == len(names)
    assert "\x1b" not in traps.answers[-1]
    for entry in listed["entries"]:
        exact = (
            base64.b64decode(entry["name_b64"]) if "name_b64" in entry else entry["name"].encode()
        )
        assert exact in names
        inside = quote(base64.b64encode(b"odd/" + exact).decode(), safe="")
        assert traps.at(f"files/stat?path_b64={inside}")[0] == 200
        assert traps.at(f"files?path_b64={inside}", "DELETE")[0] == 204
    assert traps.at("files?path=odd")[1]["entries"] == []


def test_tree_deeper_than_any_path_is_listed_and_deleted(traps: Attacker) -> None:
    script = (
        "import os\nos.mkdir('deep'); os.chdir('deep')\n"
        "for _ in range(2000): os.mkdir('x'); os.chdir('x')"
    )
    traps.at("exec", "POST", {"argv": ["/usr/bin/python3", "-c", script]})
    assert traps.at("files?path=deep")[0] == 200
    assert traps.at("files?path=deep&recursive=true", "DELETE")[0] == 204


@pytest.mark.parametrize(
    "body",
    [
        {"argv": []},
        {"argv": ["a\0b"]},
        {"argv": ["true"], "env": {"A=B": "c"}},
        {"argv": ["true"], "env": {"X\n": "c"}},
        {"argv": ["true"], "env": {"X": "\0"}},
        {"argv": ["true"], "timeout": -1},
        {"argv": ["true"], "max_output_bytes": 10**13},
        {"argv": ["x" * 100] * 20_000},
    ],
)
def test_exec_with_hostile_fields_is_refused(attacker: Attacker, body: dict[str, object]) -> None:
    assert attacker.at("exec", "POST", body)[0] in {413, 422}


def test_output_without_end_is_bounded(attacker: Attacker) -> None:
    shell = {"shell": "head -c 80000000 /dev/zero", "max_output_bytes": 1000}
    status, done = attacker.at("exec", "POST", shell)
    assert status == 200
    assert done["truncated"]
    assert len(base64.b64decode(done["stdout"])) == 1000


def test_runtime_and_zygote_sockets_are_not_to_be_seen_inside(attacker: Attacker) -> None:
    assert attacker.shell("tail -n +2 /proc/net/unix; find / -xdev -type s 2>/dev/null") == ""


def test_nothing_that_was_said_or_kept_holds_a_secret_or_a_traceback(attacker: Attacker) -> None:
    """Last: looks through everything the tests above were answered, and what is on disk."""
    home, token = attacker.server.home, attacker.server.token
    attacker.ask("GET", "/v1/events?limit=1000")
    attacker.ask("GET", "/openapi.json")
    for answer in attacker.answers:
        if "/openapi.json" in answer[:40] or ".py" in answer[:80]:
            continue
        kept = answer.replace(token, "", 1) if "Bearer" in answer else answer
        assert KEY not in kept
        assert token not in kept
        assert str(home) not in kept
        assert LEAK.search(kept) is None, kept[:400]
    holders = {
        str(path.relative_to(home.parent))
        for path in home.parent.rglob("*")
        if path.is_file() and path.stat().st_size < 1 << 28 and path.name != "image"
        and (KEY.encode() in (data := path.read_bytes()) or token.encode() in data)
    }  # fmt: skip
    assert holders == {"h/keys.toml", "h/token"}
    environ = attacker.shell("cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -c -e sk-canary")
    assert environ.strip() == "0"
