"""The steps of VS Code's Remote-SSH, without its server: `ssh -T -D PORT HOST bash`, a script on
standard input, a server on a port that the system gives, reached by SOCKS, ended by its pid."""

import socket
import subprocess

from tests.claims import free_port
from tests.e2e.ssh.client import SECONDS, SshClient
from tests.e2e.ssh.test_programs import reached
from tests.peers.api import Api, until

SCRIPT = b"""\
mkdir -p ~/.vscode-server && cd ~/.vscode-server
echo kept > served
setsid python3 -u -m http.server 0 --bind 127.0.0.1 > log 2>&1 < /dev/null &
pid=$!
until grep -q ' port [0-9]' log; do :; done
echo "listening=$(sed -n 's/.* port \\([0-9]*\\) .*/\\1/p' log) pid=$pid"
"""


def test_server_of_an_editor_is_started_reached_and_ended(
    ada: SshClient, box: str, calls: Api
) -> None:
    port = free_port()
    words = [*ada.words("ssh", "-T", "-D", f"127.0.0.1:{port}"), f"{box}@gateway", "bash"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write(SCRIPT)
        client.stdin.flush()
        said = dict(each.split("=") for each in client.stdout.readline().decode().split())
        until(lambda: reached(port), bool)
        with (
            socket.create_connection(("127.0.0.1", port), SECONDS) as near,
            near.makefile("rb") as answers,
        ):
            inside = int(said["listening"]).to_bytes(2, "big")
            near.sendall(b"\x05\x01\x00" + b"\x05\x01\x00\x01\x7f\x00\x00\x01" + inside)
            assert answers.read(2) == b"\x05\x00"
            assert answers.read(10)[1] == 0
            near.sendall(b"GET /served HTTP/1.0\r\n\r\n")
            assert answers.read().endswith(b"kept\n")
        client.stdin.write(f"kill {said['pid']} && wait {said['pid']}; echo ended\n".encode())
        client.stdin.close()
        assert client.stdout.read() == b"ended\n"
        assert client.wait(SECONDS) == 0
