"""The contract of an Extension whose address is used: a runtime answers there, and does its work.

Subclass `ReachableContract` in a test module (pytest-asyncio, auto mode). Give it a fixture
`another` that makes one more instance over the same home, as a restarted control plane would, and
override `kill`:

    class TestMine(ReachableContract):
        @pytest.fixture
        def another(self, tmp_path):
            return lambda: Mine(self.setup_in(tmp_path))
"""

import asyncio
import base64
import os
import shutil
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.adapters.runtimes.http_clients import HttpRuntimeClients
from atoll.domain.errors import AtollError
from atoll.domain.wall.isolation import reaches
from atoll.ports.extension import (
    Closable,
    Extension,
    ExtensionSetup,
    Handle,
    Mirrors,
    Mount,
    Provision,
    Reachability,
)
from atoll.ports.runtime import RuntimeClient
from atoll.testing.contracts.extensions.extension import ExtensionContract
from atoll.wire.contract.call import PathId
from atoll.wire.contract.execs import ExecBody, run_exec
from atoll.wire.contract.files import read_file, write_file
from atoll.wire.contract.journal import check_health
from atoll.wire.contract.recordings import read_text
from atoll.wire.contract.terminals import OpenBody, close_terminal, open_terminal
from atoll.wire.zygote.messages import Agent

Another = Callable[[], Extension]
PATIENCE_SECONDS = 60.0
AGENT = Agent("contract", ("sh", "-c", "echo agent-by-name; exec cat"))


class ReachedRuntime:
    """A runtime that answers, as its control plane uses it."""

    def __init__(self, client: RuntimeClient, reach: Reachability) -> None:
        self.client = client
        self.reach = reach

    async def run(self, line: str) -> str:
        """Run a line inside; return what it prints."""
        done = await self.client.call(run_exec(ExecBody(shell=line, timeout=PATIENCE_SECONDS)))
        return base64.b64decode(done.stdout).decode(errors="replace")

    async def shown(self, terminal_id: PathId, words: str) -> None:
        """Wait until a terminal has shown these words."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                shown = await self.client.call(read_text(terminal_id, since=0))
                if words in shown.text:
                    return
                await asyncio.sleep(0.05)


class ReachableContract(ExtensionContract):
    """Contract of an extension whose runtime is real: health, execs, terminals, files, environment,
    mounts, agents, doors, and what is left after a restart and a teardown."""

    def setup_in(self, folder: Path) -> ExtensionSetup:
        """Return a setup at a home of the test's, with one agent that needs no network."""
        own = folder / "own"
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        return ExtensionSetup(folder, "atoll-contract", agents=(AGENT,), folder=own)

    def home_in(self, folder: Path) -> Path:
        """Return the home of the test; override it where `another` uses a different one."""
        return folder

    @pytest.fixture
    async def extension(self, another: Another) -> AsyncIterator[Extension]:
        """Make the extension, and close it."""
        made = another()
        yield made
        await _close(made)

    async def test_runtime_at_the_address_says_which_sandbox_it_is(
        self, extension: Extension
    ) -> None:
        async with self.reached(extension) as (request, it):
            health = await it.client.call(check_health())
            assert (health.sandbox_id, health.generation) == (request.sandbox_id, 1)

    async def test_runtime_refuses_a_caller_without_its_token(self, extension: Extension) -> None:
        async with self.reached(extension) as (_, it):
            if it.reach.address.startswith("unix:"):
                assert Path(it.reach.address.removeprefix("unix:")).stat().st_mode & 0o007 == 0
                return
            for token in (None, "x" * 40):
                async with _client(replace(it.reach, token=token)) as stranger:
                    with pytest.raises(AtollError):
                        await stranger.call(check_health())

    async def test_exec_has_the_environment_and_ends_with_its_code(
        self, extension: Extension
    ) -> None:
        async with self.reached(extension, env=(("FROM_REQUEST", "a b"),)) as (_, it):
            assert await it.run('echo "$FROM_REQUEST"; pwd') == "a b\n/workspace\n"
            done = await it.client.call(run_exec(ExecBody(argv=["sh", "-c", "exit 7"])))
            assert (done.exit_code, done.signal) == (7, None)
            by_name = "cat /dev/stdin >/dev/stderr; cat /dev/fd/0; echo out >/dev/stdout"
            body = ExecBody(shell=by_name, stdin=base64.b64encode(b"in\n").decode())
            done = await it.client.call(run_exec(body))
            printed = [base64.b64decode(text) for text in (done.stdout, done.stderr)]
            assert printed == [b"out\n", b"in\n"], printed

    async def test_files_are_the_same_by_the_api_and_inside(self, extension: Extension) -> None:
        async with self.reached(extension) as (_, it):
            await it.client.call(write_file((("path", "from-api"),), b"one"))
            assert await it.run("cat from-api; echo two > from-inside") == "one"
            assert await it.client.call(read_file((("path", "from-inside"),))) == b"two\n"

    async def test_terminal_shows_what_its_program_says(self, extension: Extension) -> None:
        async with self.reached(extension) as (_, it):
            body = OpenBody(argv=["sh", "-c", "echo shown-$((40+2)); exec cat"])
            opened = await it.client.call(open_terminal(body, principal="contract"))
            await it.shown(PathId(opened.terminal_id), "shown-42")
            await it.client.call(close_terminal(opened.terminal_id))

    async def test_agent_of_the_setup_starts_by_its_name(self, extension: Extension) -> None:
        names = frozenset({AGENT.name})
        async with self.reached(extension, agents=names) as (_, it):
            opened = await it.client.call(
                open_terminal(OpenBody(agent=AGENT.name), principal="contract")
            )
            await it.shown(PathId(opened.terminal_id), "agent-by-name")

    async def test_mount_is_shown_and_cannot_be_written(
        self, extension: Extension, tmp_path: Path
    ) -> None:
        layer = self.home_in(tmp_path) / "agents" / f"contract-{os.urandom(4).hex()}"
        layer.mkdir(mode=0o755, parents=True)
        (layer / "file").write_text("of the layer")
        mounts = (Mount(str(layer), "/opt/atoll/layers/contract"),)
        try:
            async with self.reached(extension, mounts=mounts) as (_, it):
                output = await it.run("cd /opt/atoll/layers/contract && cat file; echo x > file; :")
                assert output == "of the layer"
                assert (layer / "file").read_text() == "of the layer"
        finally:
            shutil.rmtree(layer)

    async def test_live_mount_shows_what_is_new_once_it_was_brought(
        self, extension: Extension, tmp_path: Path
    ) -> None:
        if not isinstance(extension, Mirrors):
            pytest.skip("its sandboxes have no copies of their own that it could refresh")
        bare = self.home_in(tmp_path) / "repos" / f"contract-{os.urandom(4).hex()}.git"
        (bare / "objects" / "pack").mkdir(mode=0o755, parents=True)
        (bare / "HEAD").write_text("ref: refs/heads/main\n")
        mounts = (Mount(str(bare), "/.atoll/repos/0.git", live=True),)
        try:
            async with self.reached(extension, mounts=mounts) as (_, it):
                assert await it.run("ls /.atoll/repos/0.git/objects/pack") == ""
                (bare / "objects" / "pack" / "late.pack").write_text("late")
                (bare / "HEAD").write_text("ref: refs/heads/other\n")
                for _ in range(2):
                    await extension.refresh(str(bare))
                    output = await it.run("cd /.atoll/repos/0.git; cat HEAD objects/pack/late.pack")
                    assert output == "ref: refs/heads/other\nlate"
                await extension.refresh(f"{bare}-of-nobody")
        finally:
            shutil.rmtree(bare)

    async def test_doors_are_owned_from_the_first_moment(self, extension: Extension) -> None:
        if not extension.capabilities().doors:
            pytest.skip("it says that it has none")
        async with self.reached(extension) as (_, it):
            for port in (8082, 3128):
                line = f"bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' && echo open"
                assert await it.run(line) == "open\n", f"no door answers at {port}"

    async def test_token_is_nowhere_inside(self, extension: Extension) -> None:
        async with self.reached(extension) as (_, it):
            if it.reach.token is None:
                pytest.skip("its runtime has no token")
            output = await it.run("env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null")
            assert it.reach.token not in output

    async def test_network_that_is_closed_reaches_nobody_here(self, extension: Extension) -> None:
        if not extension.capabilities().closes_network:
            pytest.skip("it does not claim to close its network")
        async with self.reached(extension) as (_, it):
            with _listeners() as places:
                for host, port in places:
                    line = f"timeout 5 bash -c 'exec 3<>/dev/tcp/{host}/{port}' && echo open"
                    assert "open" not in await it.run(f"({line}) 2>/dev/null")

    async def test_isolation_is_that_of_the_capabilities_or_weaker(
        self, extension: Extension
    ) -> None:
        async with self.reached(extension) as (_, it):
            assert reaches(extension.capabilities().isolation, it.reach.isolation.level)
            assert it.reach.isolation.mechanism

    async def test_second_instance_after_a_restart_finds_and_ends_it(
        self, extension: Extension, another: Another
    ) -> None:
        request = self.request()
        handle = await extension.provision(request)
        before = await extension.wait_ready(handle)
        await _close(extension)
        async with _another_extension(another) as again:
            assert handle in await again.survey()
            assert (await again.provision(request)).data == handle.data
            assert (await again.wait_ready(handle)).address == before.address
            async with _client(await again.wait_ready(handle)) as client:
                await client.call(check_health())
            assert (await again.teardown(handle, keep_state=False)).removed
            assert handle not in await again.survey()

    async def test_kept_files_come_back_and_fresh_ones_do_not(
        self, extension: Extension, another: Another
    ) -> None:
        async with self.reached(extension, keep=True) as (request, it):
            await it.run("mkdir -p a/b && echo kept > a/b/file && chmod 700 a")
        async with _another_extension(another) as again:
            second = replace(request, generation=2)
            async with self.reached(again, second, keep=True) as (_, it):
                assert await it.run("cat a/b/file") == "kept\n"
            third = replace(request, generation=3, fresh=True)
            async with self.reached(again, third) as (_, it):
                assert await it.run("ls -A") == ""

    async def test_same_generation_again_has_its_files(self, extension: Extension) -> None:
        async with self.reached(extension, keep=True) as (request, it):
            await it.run("echo kept > file")
        async with self.reached(extension, request) as (_, it):
            assert await it.run("cat file") == "kept\n"

    async def test_teardown_by_a_handle_without_data_leaves_nothing(
        self, extension: Extension
    ) -> None:
        request = self.request()
        handle = await extension.provision(request)
        reach = await extension.wait_ready(handle)
        async with _client(reach) as client:
            await client.call(check_health())
        report = await extension.teardown(
            Handle(request.sandbox_id, 1, extension.name), keep_state=False
        )
        assert report.removed and not report.leftovers
        assert request.sandbox_id not in [handle.sandbox_id for handle in await extension.survey()]
        async with _client(reach) as client:
            with pytest.raises(AtollError):
                await client.call(check_health())

    @asynccontextmanager
    async def reached(
        self,
        extension: Extension,
        request: Provision | None = None,
        *,
        keep: bool = False,
        env: tuple[tuple[str, str], ...] = (),
        mounts: tuple[Mount, ...] = (),
        agents: frozenset[str] | None = None,
    ) -> AsyncIterator[tuple[Provision, ReachedRuntime]]:
        """Yield a sandbox that is ready, and tear it down: with `keep` its files stay."""
        asked = request or replace(self.request(), env=env, mounts=mounts, agents=agents)
        handle = await extension.provision(asked)
        try:
            reach = await extension.wait_ready(handle)
            async with reached_at(reach) as it:
                yield asked, it
        except BaseException:
            keep = False
            raise
        finally:
            await extension.teardown(handle, keep_state=keep)


@asynccontextmanager
async def reached_at(reach: Reachability) -> AsyncIterator[ReachedRuntime]:
    """Yield the runtime at an address."""
    async with _client(reach) as client:
        yield ReachedRuntime(client, reach)


@asynccontextmanager
async def _client(reach: Reachability) -> AsyncIterator[RuntimeClient]:
    clients = HttpRuntimeClients()
    try:
        yield clients.client(reach)
    finally:
        await clients.close()


@asynccontextmanager
async def _another_extension(another: Another) -> AsyncIterator[Extension]:
    made = another()
    try:
        yield made
    finally:
        await _close(made)


async def _close(extension: Extension) -> None:
    if isinstance(extension, Closable):
        await extension.close()


@contextmanager
def _listeners() -> Iterator[list[tuple[str, int]]]:
    """Listen on this machine's loopback and, where it has one, on its address outwards."""
    hosts = ["127.0.0.1"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent (RFC 5737)
            hosts.append(probe.getsockname()[0])
        except OSError:
            pass  # it has no way out itself
    listening = [socket.create_server((host, 0)) for host in dict.fromkeys(hosts)]
    try:
        yield [listener.getsockname()[:2] for listener in listening]
    finally:
        for listener in listening:
            listener.close()
