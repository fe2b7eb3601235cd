"""The wall of workers on a person's own machine: the runtime of a pod behind bubblewrap, or bare.

It has that person's own logins and nothing of an installation. Behind the wall only the login file
of Codex can be written, and its settings read: what an agent writes is run by nobody outside.
"""

import asyncio
import contextlib
import os
import secrets
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from atoll.adapters.runtimes.http_clients import HttpRuntimeClients
from atoll.domain.agents.agent import LAYERS
from atoll.domain.errors import Failed
from atoll.domain.wall.interior import HOME
from atoll.domain.wall.isolation import Isolation
from atoll.ports.extension import Reachability
from atoll.ports.outside.local_wall import DesktopOptions, LocalRuntime, LocalWall
from atoll.wire.contract.policy import EgressRule, Network, Policy, put_policy
from atoll.wire.words.walls import IsolationLevel
from atoll.wiring.pod_boot import PodBoot, PodMount
from atoll.zygote.jobs.programs import find_bwrap

START_SECONDS: Final = 60.0
END_SECONDS: Final = 10.0
IDLE_END_SECONDS: Final = 60
"""A runtime whose lane was killed ends by itself after this."""
LISTENS: Final = "runtime on "
VENDOR_HOSTS: Final = ("api.openai.com", "auth.openai.com", "chatgpt.com")
_NATIVE: Final = "@openai/codex-linux-*/vendor/*/bin/codex"

WALLED: Final = Isolation(
    IsolationLevel.CONTAINER,
    "bubblewrap",
    (
        "memory: this wall has no limit",
        "pids: this wall has no limit",
        "disk: this wall has no limit",
        "syscalls: this wall has no filter",
    ),
)
BARE: Final = Isolation(IsolationLevel.NONE, "none", ("all: it runs as its person, bare",))


def desktop_wall(options: DesktopOptions) -> LocalWall:
    """Return the wall of this machine. Raises `Failed`."""
    program = codex_program(options.program)
    if options.bare:
        return LocalWall(BARE, partial(_start_runtime, options, program))
    if os.geteuid() == 0:
        raise Failed(
            "a wall built by root protects nobody: run `atoll desktop run` as yourself, or with "
            "--bare"
        )
    find_bwrap()
    return LocalWall(WALLED, partial(_start_runtime, options, program))


def codex_program(named: Path | None) -> Path:
    """Return the program of Codex itself, not the script of npm that starts it. Raises `Failed`."""
    program = shutil.which("codex") if named is None else str(named)
    if program is None or not Path(program).is_file():
        raise Failed("codex is not found: install it, or name its program with --codex")
    script = Path(program).resolve()
    for above in script.parents:
        if above.name == "node_modules":
            for native in sorted(above.glob(_NATIVE)):
                return native
    return script


@asynccontextmanager
async def _start_runtime(
    options: DesktopOptions, program: Path, place: Path
) -> AsyncIterator[LocalRuntime]:
    """Start the runtime of one worker, and end all of it on leaving. Raises `Failed`."""
    token = secrets.token_urlsafe(32)
    boot = _bare_boot(options, token) if options.bare else _boot(options, program, token, place)
    process = await _launch(options, program, place, boot=boot)
    clients = HttpRuntimeClients()
    try:
        address = await _address(process, place / "log")
        client = clients.client(Reachability(address, WALLED, token))
        if not options.bare:
            await client.call(put_policy(Policy(revision=1, network=_network(options))))
        yield LocalRuntime(client, lambda: process.returncode is None, address, token)
    finally:
        await clients.close()
        await _end_runtime(process)


def _bare_boot(options: DesktopOptions, token: str) -> PodBoot:
    return PodBoot(token, options.passed, doors=False, same_uid=True, own_logins=True,
                   idle_end_seconds=IDLE_END_SECONDS)  # fmt: skip


def _boot(options: DesktopOptions, program: Path, token: str, place: Path) -> PodBoot:
    home = place / "home"
    (home / ".codex").mkdir(mode=0o700, parents=True, exist_ok=True)
    mounts = (_layer(program), *_logins())
    return PodBoot(
        token,
        options.passed,
        wall="bwrap",
        same_uid=True,
        home=str(home),
        mounts=mounts,
        own_logins=True,
        idle_end_seconds=IDLE_END_SECONDS,
    )


def _layer(program: Path) -> PodMount:
    """Return the mount that puts a program into the path of agents."""
    if program.name == "codex" and program.parent.name == "bin" and "vendor" in program.parts:
        return PodMount(str(program.parent.parent), f"{LAYERS}/codex")
    return PodMount(str(program), f"{LAYERS}/codex/bin/codex")


def _logins() -> Iterator[PodMount]:
    """Yield this person's login of Codex, which it refreshes, and their settings, read-only."""
    own = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    for name, writable in (("auth.json", True), ("config.toml", False)):
        if (own / name).is_file():
            yield PodMount(str((own / name).resolve()), f"{HOME}/.codex/{name}", writable)


def _network(options: DesktopOptions) -> Network:
    """Return what agents behind the wall reach: every public address, or the vendor's hosts and
    the named ports of this machine."""
    if not options.host_ports:
        return Network(mode="full")
    rules = tuple(EgressRule(host=host, origin="desktop") for host in VENDOR_HOSTS)
    return Network(mode="host-only", rules=rules, host_ports=options.host_ports)


async def _launch(
    options: DesktopOptions, program: Path, place: Path, *, boot: PodBoot
) -> asyncio.subprocess.Process:
    descriptor = os.memfd_create("atoll-boot", os.MFD_CLOEXEC)
    os.write(descriptor, msgspec.json.encode(boot))
    os.lseek(descriptor, 0, os.SEEK_SET)
    workspace = options.workspace or place / "workspace"
    argv = [sys.executable, "-m", "atoll.wiring.pod", "--host", "127.0.0.1", "--port", "0"]
    argv += ["--sandbox-id", "sb_desktop", "--workspace", str(workspace)]
    argv += ["--journal", str(place / "journal"), "--repo-link", str(place / "repo")]
    env = dict(os.environ)
    if options.bare:
        env["PATH"] = f"{program.parent}:{env.get('PATH', os.defpath)}"
    try:
        with (place / "log").open("w") as log:
            return await asyncio.create_subprocess_exec(
                *argv,
                *("--boot-fd", str(descriptor)),
                pass_fds=(descriptor,),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=env,
                start_new_session=True,
            )
    finally:
        os.close(descriptor)


async def _address(process: asyncio.subprocess.Process, log: Path) -> str:
    """Return the address that a runtime reports. Raises `Failed` with its last words."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            while process.returncode is None:
                for line in _read_log(log).splitlines():
                    if line.startswith(LISTENS):
                        return f"http://{line.removeprefix(LISTENS)}"
                await asyncio.sleep(0.05)
    raise Failed(f"the runtime did not start: {_read_log(log)[-500:]}")


def _read_log(log: Path) -> str:
    return log.read_text(errors="replace")


async def _end_runtime(process: asyncio.subprocess.Process) -> None:
    """End a runtime, and init and everything inside with it."""
    for end in (process.terminate, process.kill):
        with contextlib.suppress(ProcessLookupError):
            end()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await process.wait()
                return
