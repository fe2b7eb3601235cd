"""The whole runtime as it starts: forked, no imports left, one control socket, four doors."""

import contextlib
import gc
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from atoll.domain.wall.runtime_end import RuntimeEnd
from atoll.inside.program import init_argv
from atoll.ports.runtime_boot import RuntimeBoot
from atoll.runtime.spawners.control import receive
from atoll.wiring.runtime import serve
from atoll.wiring.warm import warm_up
from tests.inside.architectures import own_init
from tests.places import ROOT
from tests.runtime.stage import ENV, runtime


class NoImports:
    """Refuses every import, as a process does that cannot read the files any more."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        sys.stderr.write(f"late import of {name}\n")
        raise ImportError(name)


class Unix(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("runtime", timeout=10)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))


class Forked:
    def __init__(
        self,
        home: Path,
        *,
        token: str | None = None,
        keys: str | None = None,
        idle_end_seconds: int | None = None,
    ) -> None:
        self.home, self.path = home, home / "rt.sock"
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        argv = init_argv(own_init(), control_fd=theirs.fileno(), doors=(0, 0), root=str(home))
        self.init = subprocess.Popen(
            argv, pass_fds=[theirs.fileno()], env={}, stdin=subprocess.DEVNULL
        )
        theirs.close()
        packet = receive(ours)
        assert packet is not None
        _, fds = packet
        doors = tuple(socket.socket(fileno=fd) for fd in fds)
        self.ports = [door.getsockname()[1] for door in doors]
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.path))
        listener.listen()
        keys_fd = None if keys is None else memory(keys)
        boot = RuntimeBoot(
            sandbox_id="sb_x",
            generation=2,
            listener=listener,
            control=ours,
            token=token,
            keys_fd=keys_fd,
            journal_dir=home / "journal",
            doors=doors,
            env=ENV,
            cwd=str(home),
            workspace=str(home),
            init=own_init(),
            shell=("/bin/sh",),
            idle_end_seconds=idle_end_seconds,
        )
        # As the zygote does: what a collection in the child would touch is no longer shared.
        gc.collect()
        gc.freeze()
        self.pid = os.fork()
        if self.pid == 0:
            self._be(boot)
        gc.unfreeze()
        for each in (ours, listener, *doors):
            each.close()
        if keys_fd is not None:
            os.close(keys_fd)

    def _be(self, boot: RuntimeBoot) -> None:
        code = 99
        try:
            sys.meta_path[:] = [NoImports()]
            serve(boot)
            code = 0
        except SystemExit as left:
            code = int(left.code or 0)
        except BaseException as error:  # noqa: BLE001 (a fork must never return to pytest)
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
        finally:
            os._exit(code)

    def call(
        self, method: str, path: str, body: object = None, token: str | None = None
    ) -> tuple[int, Any]:
        connection = Unix(self.path)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, headers)
        reply = connection.getresponse()
        raw = reply.read()
        connection.close()
        return reply.status, json.loads(raw) if raw else None

    def private_kib(self) -> int:
        text = Path(f"/proc/{self.pid}/smaps_rollup").read_text()
        return sum(
            int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_")
        )

    def wait(self) -> int:
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)


def descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def memory(text: str) -> int:
    fd = os.memfd_create("keys")
    os.write(fd, text.encode())
    return fd


@contextlib.contextmanager
def forked(
    token: str | None = None, keys: str | None = None, idle_end_seconds: int | None = None
) -> Iterator[Forked]:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        child = Forked(Path(folder), token=token, keys=keys, idle_end_seconds=idle_end_seconds)
        try:
            yield child
        finally:
            if child.pid:
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)
            child.init.wait(10)


def test_forked_runtime_without_imports_serves_the_contract_and_stops_on_term(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with forked() as child:
        status, health = child.call("GET", "/health")
        assert (status, health["sandbox_id"], health["generation"]) == (200, "sb_x", 2)
        assert child.call("POST", "/execs", {"argv": ["true"]})[1]["exit_code"] == 0
        _, session = child.call("POST", "/sessions", {"argv": ["sleep", "100"]})
        assert child.call("GET", f"/sessions/{session['session_id']}")[1]["state"] == "running"
        assert child.call("GET", "/nowhere")[1]["code"] == "not_found"
        assert child.call("PUT", "/health")[0] == 405
        assert child.call("GET", "/files")[0] == 200
        assert child.call("POST", "/files/mkdir", {"path": "made"})[0] == 201
        os.kill(child.pid, signal.SIGTERM)
        assert child.wait() == 0
        assert child.init.wait(10) == 0
        text = "".join(path.read_text() for path in (child.home / "journal").glob("*.jsonl"))
        assert "runtime.stopped" in text
    assert "late import" not in capfd.readouterr().err


MEASURED = """
from tests.runtime.test_server import forked
with forked() as child:
    child.call("GET", "/health")
    child.call("POST", "/execs", {"argv": ["true"]})
    child.call("POST", "/sessions", {"argv": ["sleep", "100"]})
    child.call("GET", "/files")
    child.call("POST", "/files/mkdir", {"path": "made"})
    print(child.private_kib())
"""


def test_forked_runtime_keeps_little_for_itself() -> None:
    # Forked from a process of its own: of pytest's heap it would copy more the later it is.
    told = subprocess.run(
        [sys.executable, "-c", MEASURED],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    # Not shared with its parent, one terminal open; about 10 MiB when measured.
    assert int(told) < 16 * 1024


def test_rehearsal_leaves_no_descriptor_and_a_fork_after_it_serves(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    before = descriptors()
    warm_up()
    assert caplog.records == []
    assert descriptors() == before
    assert threading.active_count() == 1
    with forked() as child:
        assert child.call("GET", "/health")[0] == 200
    assert "broke" not in capfd.readouterr().err


def test_runtime_whose_init_is_killed_says_so_and_exits_nonzero() -> None:
    with forked() as child:
        assert child.call("GET", "/health")[0] == 200
        child.init.kill()
        assert child.wait() == RuntimeEnd.INIT_GONE
        text = "".join(path.read_text() for path in (child.home / "journal").glob("*.jsonl"))
        assert "everything inside ended" in text


def test_doors_without_keys_or_rules_answer_and_refuse() -> None:
    with forked() as child:
        child.call("GET", "/health")
        for at, port in enumerate(child.ports):
            connection = http.client.HTTPConnection(["127.0.0.1", "::1"][at % 2], port, timeout=10)
            target = "/broker/openai/v1/models" if at < 2 else "http://example.com/"
            connection.request("GET", target)
            reply = connection.getresponse()
            problem = json.loads(reply.read())
            expected = (404, "unknown_provider") if at < 2 else (403, "not_listed")
            assert (reply.status, problem.get("code", problem.get("error"))) == expected
            connection.close()


def test_broker_door_adds_the_key_outside_without_late_imports(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        place = f"http://localhost:{upstream.getsockname()[1]}"
        keys = f'[openai]\nkey = "sk-real"\nbase_url = "{place}"\n'
        with forked(keys=keys) as child:
            seen: list[bytes] = []

            def answer() -> None:
                peer, _ = upstream.accept()
                with peer:
                    seen.append(peer.recv(65536))
                    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

            thread = threading.Thread(target=answer)
            thread.start()
            connection = http.client.HTTPConnection("127.0.0.1", child.ports[0], timeout=10)
            connection.request("GET", "/broker/openai/v1/models")
            reply = connection.getresponse()
            assert (reply.status, reply.read()) == (200, b"{}")
            connection.close()
            thread.join(10)
            assert b"sk-real" in seen[0]
            entries = child.call("GET", "/journal")[1]["entries"]
            assert "door.request" in [entry["kind"] for entry in entries]
            assert "sk-real" not in str(entries)
    assert "late import" not in capfd.readouterr().err


def test_broken_keys_leave_the_broker_closed_and_the_rest_alive() -> None:
    with forked(keys="not toml [") as child:
        assert child.call("GET", "/health")[0] == 200
        connection = http.client.HTTPConnection("127.0.0.1", child.ports[0], timeout=10)
        connection.request("GET", "/broker/openai/v1/models")
        assert connection.getresponse().status == 404
        connection.close()


@pytest.mark.parametrize("given", [None, "", "wrong", "é"])
def test_runtime_with_a_token_lets_nobody_in_without_it(given: str | None) -> None:
    with forked(token="right") as child:
        assert child.call("GET", "/health", token="right")[0] == 200
        raw = None if given is None else given.encode().decode("latin-1")
        status, problem = child.call("GET", "/health", token=raw)
        assert (status, problem["code"]) == (401, "unauthenticated")


async def test_idle_seconds_are_reset_by_input_and_not_by_output() -> None:
    async with runtime() as rt:
        terminal = await rt.open(
            "sh",
            "-c",
            # It prints on and on while nobody types.
            "for i in 1 2 3 4 5 6; do sleep 0.1; echo $i; done; cat",
        )
        async with rt.attach(terminal) as viewer:
            await viewer.until_bytes(b"6")
            idle = (await rt.call("GET", "/health"))[1]["idle_seconds"]
            assert idle >= 0.5
            await viewer.type(b"x")
            await viewer.until_bytes(b"x")
            health = (await rt.call("GET", "/health"))[1]
            assert health["idle_seconds"] < 0.5
            assert (health["sessions"], health["attached"], health["execs"]) == (1, 1, 0)


async def test_journal_over_http_is_paged_and_acknowledged() -> None:
    async with runtime() as rt:
        for _ in range(3):
            await rt.call("POST", "/execs", {"argv": ["true"]})
        _, page = await rt.call("GET", "/journal?after=2&limit=3")
        assert ([entry["n"] for entry in page["entries"]], page["last"]) == ([3, 4, 5], 6)
        assert (await rt.call("POST", "/journal/ack", {"n": 5}))[0] == 204
        assert [entry["n"] for entry in (await rt.call("GET", "/journal"))[1]["entries"]] == [6]
        assert (await rt.call("GET", "/journal?limit=5000"))[0] == 422
