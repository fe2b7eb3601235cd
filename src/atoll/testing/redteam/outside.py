"""Attempts over the API, with a valid token where one is needed: each returns what it obtained."""

import base64
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from atoll.testing.redteam.target import AttackResponse, AttackTarget

SLOW_SECONDS = 5.0
SPELLINGS = (
    "../../etc/passwd", "%2e%2e%2fetc/passwd", "%252e%252e%252fetc/passwd", "....//etc/passwd",
    "a/../../etc/passwd", "/etc/passwd", "x%00.txt", "..\\..\\etc\\passwd", "/proc/self/environ",
)  # fmt: skip
LINKS = ("rt/l", "rt/d/etc/passwd", "rt/d/proc/1/environ", "rt/up/etc/passwd")
WAITING = ("rt/f", "rt/z")
TRAPS = """
import os
os.makedirs("/workspace/rt", exist_ok=True)
os.chdir("/workspace/rt")
if not os.path.lexists("f"):
    os.mkfifo("f")
    for name, target in (("l", "/etc/passwd"), ("d", "/"), ("up", "../.."), ("z", "/dev/zero")):
        os.symlink(target, name)
"""
ODD_NAMES = r"""
import os
os.makedirs(b"/workspace/rt/odd", exist_ok=True)
for name in (b"\x1b[31mred", b"line\nend", b"-rf", b"<img src=x onerror=alert(1)>", b"\xff\xfe"):
    open(b"/workspace/rt/odd/" + name, "w").close()
"""
DEEP = b"[" * 100_000
WITHOUT = (
    {"Authorization": ""},
    {"Authorization": "Bearer wrong"},
    {"Authorization": "Basic YTpi"},
    {"Authorization": "", "Cookie": "atoll_session=wrong"},
    {"Authorization": "", "X-Forwarded-User": "root"},
)
CLOSED = ("/v1/sandboxes", "/v1/secrets", "/v1/approvals", "/v1/events", "/v1/profiles")
ORIGINS = ("https://evil.example", "null", "http://127.0.0.1:1")
BAD_YAML = (
    b"!!python/object/apply:os.system [id]",
    b"a: &a [x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n",
    b"id: profile.rt\nid: profile.rt\nversion: '1.0.0'\n",
)
INNER_REMOTES = ("http://169.254.169.254/x/y", "https://127.0.0.1/x/y", "file:///etc",
                 "gopher://127.0.0.1/x", "https://[::1]/x/y", "ext::sh -c id")  # fmt: skip
ASK = """
import urllib.request, urllib.error
url = "http://127.0.0.1:8082/broker/custom/NAME?target=https://HOST/x"
try:
    print(urllib.request.urlopen(url, timeout=10).read())
except urllib.error.HTTPError as error:
    print(error.read().decode())
"""
SPELL = """
import base64, os
value = os.environ["NAME"]
print(value, value[::-1])
print(base64.b64encode(value.encode()))
"""


@dataclass(frozen=True, slots=True)
class Canaries:
    """Secrets set for this run, by name and value: one kept outside, one exposed to the sandbox on
    its owner's request."""

    kept_name: str
    kept: str
    exposed_name: str
    exposed: str


Try = Callable[[AttackTarget, Canaries], str]


def _report_unless_refused(
    name: str, answer: AttackResponse, *, allow: tuple[int, ...] = ()
) -> str:
    """Return an empty text for a refusal (a 4xx, or one of `allow`), else the answer."""
    if 400 <= answer.status < 500 or answer.status in allow:
        return ""
    return f"{name}: {answer.status} {answer.body[:120]!r}"


def _join(*texts: str) -> str:
    return "; ".join(filter(None, texts))


def links(target: AttackTarget, _canaries: Canaries) -> str:
    """Use links and paths that lead out of the workspace (threats 4, 6)."""
    target.run("python3", "-c", TRAPS)
    spellings = (path if "%" in path else quote(path) for path in SPELLINGS)
    paths = [*map(quote, LINKS), *spellings]
    failures = []
    for path in paths:
        for method in ("GET", "PUT"):
            answer = target.ask(
                method, target.here(f"/files/content?path={path}"), b"" if method == "PUT" else None
            )
            failures.append(_report_unless_refused(f"{method} {path}", answer))
        answer = target.ask("GET", target.here(f"/files?path={path}"))
        failures.append(_report_unless_refused(f"list {path}", answer))
    return _join(*failures)


def pipes(target: AttackTarget, _canaries: Canaries) -> str:
    """Read files that never end, or never begin (threat 7)."""
    target.run("python3", "-c", TRAPS)
    failures = []
    for path in WAITING:
        began = time.monotonic()
        answer = target.ask("GET", target.here(f"/files/content?path={path}"), seconds=30)
        took = time.monotonic() - began
        delay = f"{path} took {took:.0f} s" if took > SLOW_SECONDS else ""
        failures += [_report_unless_refused(path, answer), delay]
    return _join(*failures)


def odd_names(target: AttackTarget, _canaries: Canaries) -> str:
    """Use names of any bytes; they stay plain JSON (threat 12)."""
    target.run("python3", "-c", ODD_NAMES)
    answer = target.ask("GET", target.here("/files?path=rt/odd"))
    entries = answer.document
    if answer.status != 200 or not isinstance(entries, dict):
        return f"the list was answered {answer.status} {answer.body[:200]!r}"
    return "an escape code came through" if b"\x1b" in answer.body else ""


def bombs(target: AttackTarget, _canaries: Canaries) -> str:
    """Send documents that grow, nest or construct (threats 14, 122)."""
    tries = [_report_unless_refused("deep JSON", target.ask("POST", "/v1/sandboxes", DEEP))]
    long = json.dumps({"profile": "x" * (2 << 20)}).encode()
    tries.append(
        _report_unless_refused("long JSON", target.ask("POST", "/v1/sandboxes", long), allow=(0,))
    )
    for text in BAD_YAML:
        tries.append(
            _report_unless_refused(repr(text[:30]), target.ask("PUT", "/v1/profiles/rt", text))
        )
    return _join(*tries)


def sizes(target: AttackTarget, _canaries: Canaries) -> str:
    """Set terminal sizes beyond all reason (threat 47)."""
    opened = target.must("POST", target.here("/terminals"), {"argv": ["cat"]})
    path = target.here(f"/terminals/{opened['terminal_id']}")
    failures = []
    for cols, rows in ((65535, 65535), (0, 0), (-1, -1), (1 << 40, 1)):
        answer = target.ask("POST", f"{path}/resize", {"cols": cols, "rows": rows})
        failures.append(f"{cols}x{rows}: {answer.status}" if answer.status >= 500 else "")
    terminal = target.ask("GET", path).document or {}
    size = (terminal.get("cols", 0), terminal.get("rows", 0))
    failures.append(f"it is {size} now" if size > (1000, 500) or min(size) < 1 else "")
    target.ask("DELETE", path)
    return _join(*failures)


def exposed_secrets(target: AttackTarget, canaries: Canaries) -> str:
    """Print an exposed secret plainly, backwards and encoded (threat 84)."""
    output = target.run("python3", "-c", SPELL.replace("NAME", canaries.exposed_name))
    target.responses.append(output.encode())
    encoded = base64.b64encode(canaries.exposed.encode()).decode().rstrip("=")
    forms = (canaries.exposed, canaries.exposed[::-1], encoded)
    return _join(*(f"shown as {form[:6]}…" for form in forms if form in output))


def approvals(target: AttackTarget, canaries: Canaries) -> str:
    """Use a new host, which is refused, and approve it with a token alone (threats 91, 96)."""
    host = "atoll-redteam.example.com"
    code = ASK.replace("NAME", canaries.kept_name).replace("HOST", host)
    output = target.run("python3", "-c", code)
    if "domain_not_approved" not in output:
        return f"the broker answered {output[:200]}"
    failures = []
    for approval in _questions(target, host):
        path = f"/v1/approvals/{approval['approval_id']}"
        yes = {"for": "sandbox", "shown": approval["digest"]}
        for body in (yes, {**yes, "words": "bada-bada"}, {**yes, "interactive": True}):
            for head in ({}, {"X-Atoll-Interactive": "true"}, {"Authorization": ""}):
                answer = target.ask("POST", f"{path}/approve", body, headers=head)
                failures.append(_report_unless_refused("approve", answer))
        target.ask("POST", f"{path}/deny", {})
    return _join(*failures) if failures else "the question never came"


def _questions(target: AttackTarget, host: str) -> list[dict[str, str]]:
    deadline = time.monotonic() + SLOW_SECONDS
    while time.monotonic() < deadline:
        listing = target.ask("GET", "/v1/approvals?state=pending").document or {}
        asked = [
            approval for approval in listing.get("approvals", ()) if host in json.dumps(approval)
        ]
        if asked:
            return asked
        time.sleep(0.1)
    return []


def closed_doors(target: AttackTarget, _canaries: Canaries) -> str:
    """Use no credential, a wrong one, one in an address, and unknown ids (threats 104, 111)."""
    failures = []
    for path in (*CLOSED, target.here(""), target.here("/files")):
        for head in WITHOUT:
            failures.append(
                _report_unless_refused(f"{path} {head}", target.ask("GET", path, headers=head))
            )
        inside = f"{path}?token={target.token}&access_token={target.token}"
        answer = target.ask("GET", inside, headers={"Authorization": ""})
        failures.append(_report_unless_refused(f"{path}?token=", answer))
    absent = target.ask("GET", "/v1/sandboxes/sb_aaaaaaaaaaaaaaaa")
    failures.append("" if absent.status == 404 else f"an unknown id: {absent.status}")
    return _join(*failures)


def lies(target: AttackTarget, _canaries: Canaries) -> str:
    """Send unknown fields and made-up cursors (threats 106, 107)."""
    tries = {
        "org_id": target.ask("POST", "/v1/sandboxes", {"profile": "shell", "org_id": "A"}),
        "owner": target.ask("POST", "/v1/sandboxes", {"profile": "shell", "owner": "root"}),
        "cursor": target.ask("GET", "/v1/sandboxes?cursor=AAAA"),
        "limit": target.ask("GET", "/v1/sandboxes?limit=-1"),
        "after": target.ask("GET", "/v1/events?after=x"),
    }
    return _join(*(_report_unless_refused(name, answer) for name, answer in tries.items()))


def foreign_pages(target: AttackTarget, _canaries: Canaries) -> str:
    """Send writing requests and sockets from foreign pages, and foreign names (threat 112)."""
    failures = []
    for origin in ORIGINS:
        head = {"Origin": origin, "Cookie": "atoll_session=x", "Authorization": ""}
        failures.append(
            _report_unless_refused(origin, target.ask("POST", "/v1/sandboxes", {}, headers=head))
        )
        upgrade = {
            **{"Origin": origin, "Connection": "Upgrade", "Upgrade": "websocket"},
            **{"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="},
        }
        answer = target.ask("GET", target.here("/terminals/x/attach"), headers=upgrade)
        failures.append(_report_unless_refused(f"attach from {origin}", answer))
    if target.url.startswith("http:"):
        start = "GET /v1/sandboxes HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n"
        named = target.raw(f"{start}Authorization: Bearer {target.token}\r\n\r\n".encode())
        failures.append(_report_unless_refused("a foreign Host", named))
    return _join(*failures)


def remotes(target: AttackTarget, _canaries: Canaries) -> str:
    """Name remotes that lead to this machine, or run something (threat 119)."""
    failures = []
    for url in INNER_REMOTES:
        answer = target.ask("POST", "/v1/repositories/fetch", {"repo_url": url})
        failures.append(_report_unless_refused(url, answer, allow=(502, 503)))
    return _join(*failures)


def flood(target: AttackTarget, _canaries: Canaries) -> str:
    """Print without end, while other requests are served (threat 54)."""
    body = {"argv": ["yes"], "timeout": 3, "max_output_bytes": 65536}
    answer = target.ask("POST", target.here("/exec"), body)
    size = len(base64.b64decode((answer.document or {}).get("stdout", "")))
    began = time.monotonic()
    target.ask("GET", "/v1/sandboxes")
    slow = time.monotonic() - began
    return _join(
        f"{size} bytes were kept" if size > 65536 else "",
        f"the next answer took {slow:.1f} s" if slow > SLOW_SECONDS else "",
    )


def tracebacks(target: AttackTarget, _canaries: Canaries) -> str:
    """Search every answer for the program's own source lines."""
    telling = re.compile(rb"Traceback \(most recent|File \"/[^\"]+\.py\", line|site-packages")
    return _join(*(repr(body[:160]) for body in target.responses if telling.search(body)))


def leaks(target: AttackTarget, canaries: Canaries) -> str:
    """Search every answer, event, log and list for both values (threats 79, 84)."""
    for path in ("/v1/events?limit=500", "/v1/secrets", target.here("/logs"), target.here("")):
        target.ask("GET", path)
    values = (canaries.kept.encode(), canaries.exposed.encode())
    return _join(*(repr(body[:80]) for body in target.responses if any(v in body for v in values)))


ATTEMPTS: tuple[tuple[str, str, Try], ...] = (
    ("4", "reach files outside the workspace", links),
    ("7", "hang the file API by pipes and devices", pipes),
    ("12", "break lists by names", odd_names),
    ("14", "send documents that explode", bombs),
    ("47", "set impossible sizes", sizes),
    ("54", "flood by output", flood),
    ("84", "print an exposed secret", exposed_secrets),
    ("96", "approve without a person", approvals),
    ("104", "read without a credential", closed_doors),
    ("106", "send fields and cursors that lie", lies),
    ("112", "act from a foreign page", foreign_pages),
    ("119", "fetch from inner addresses", remotes),
    ("82", "find a traceback in an answer", tracebacks),
    ("79", "find a secret in an answer, event or log", leaks),
)
