"""A world without a wall, in which the red team's attempts must succeed: the control of its rows.

Run as root by `test_redteam_controls.py` in namespaces of its own, as `python3 open_world.py
ARCHIVE`: both doors and a resolver grant whatever is asked, the daemons of the machine answer, a
descriptor and a key came along, and no limit is set. What uses things up is content with little.
"""

import json
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

GRANTED = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
ADDRESS = bytes((1, 2, 3, 4))


def main(archive: str) -> None:
    """Print one JSON object for each attempt."""
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    for place in ("/run", "/etc/profile.d", "/tmp"):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=0", "none", place], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=9g", "none", "/home"], check=True)
    Path("/home/agent").mkdir()
    Path("/tmp/resolv.conf").write_text("nameserver 127.0.0.1\n")
    subprocess.run(["mount", "--bind", "/tmp/resolv.conf", "/etc/resolv.conf"], check=True)
    _loopback_up()
    for port in (8082, 3128, 8080):
        _serve(socket.create_server(("127.0.0.1", port)), GRANTED)
    daemon = socket.socket(socket.AF_UNIX)
    daemon.bind("/run/docker.sock")
    daemon.listen()
    _serve(daemon, b"")
    threading.Thread(target=_resolve, daemon=True).start()
    came_along = os.dup2(os.open("/usr", os.O_RDONLY), 77)
    os.set_inheritable(came_along, True)
    os.environ["DEPLOY_TOKEN"] = "handed-in-by-hand"
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    sys.path.insert(0, archive)
    _attempt()


def _attempt() -> None:
    from inside import abuse, files, kernel, network, slab  # type: ignore[import-not-found]
    from inside.attempts import Facts, report  # type: ignore[import-not-found]

    abuse.MANY_PROCESSES, abuse.MANY_TERMINALS, abuse.MANY_FILES, abuse.MANY_NAMES = 9, 9, 9, 9
    abuse.HUGE, abuse.PLACE = 1 << 20, Path("/tmp/fill")
    slab.SECONDS_HELD, slab.MANY_LOCKS, slab.MANY_POLICIES, slab.MANY_LISTS = 0.1, 99, 99, 99
    slab.MANY_CONNECTIONS, slab.MANY_TIMERS, slab.MANY_DATAGRAMS = 4000, 99, 300
    slab.MANY_WAITING, slab.MANY_COPIES, slab.MANY_LISTENERS = 2, 99, 99
    facts = {"mode": "limited", "memory_mb": 1, "api_host": "127.0.0.1", "api_port": 8080}
    # The calls themselves are tried by an ordinary user elsewhere: root's would harm the machine.
    several = [*files.ATTEMPTS, *kernel.ATTEMPTS, *network.ATTEMPTS]
    several += [*abuse.ATTEMPTS, *slab.ATTEMPTS]
    for attempt in several:
        if attempt.name != "make denied system calls":
            print(json.dumps(report(attempt, Facts(facts))), flush=True)
    group = Path("/sys/fs/cgroup/atoll-redteam")
    if group.is_dir():
        group.rmdir()


def _serve(listener: socket.socket, answer: bytes) -> None:
    """Answer everything that connects, in a thread."""

    def serve() -> None:
        while True:
            link, _address = listener.accept()
            threading.Thread(target=_answered(link, answer), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()


def _answered(link: socket.socket, answer: bytes) -> Callable[[], None]:
    def act() -> None:
        with link:
            if answer and link.recv(65536):
                link.sendall(answer)

    return act


def _resolve() -> None:
    """Answer every question with one address (RFC 1035)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        door.bind(("127.0.0.1", 53))
        while True:
            asked, who = door.recvfrom(4096)
            end = asked.index(b"\0", 12) + 5
            wants_address = asked[end - 4 : end - 2] == b"\0\1"
            head = asked[:2] + b"\x81\x80\0\1" + (b"\0\1" if wants_address else b"\0\0") + b"\0" * 4
            found = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + ADDRESS if wants_address else b""
            door.sendto(head + asked[12:end] + found, who)


def _loopback_up() -> None:
    import fcntl
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x41))


if __name__ == "__main__":
    main(sys.argv[1])
