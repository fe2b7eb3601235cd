"""`ext.compose-ssh` as a FarBackend: a stack of services on the Engine of a host.

The file of the sandbox is judged and written anew; only that document runs. Everything is found
again by its labels, so nothing is remembered here.
"""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from atoll.adapters.extensions.ssh.backend import FindHosts, SshPlaces
from atoll.adapters.extensions.ssh.client import SshClient, SshHost
from atoll.adapters.extensions.ssh.compose.command import Compose, check_installed, find_compose
from atoll.adapters.extensions.ssh.compose.engine import FarEngine, engine_at
from atoll.adapters.extensions.ssh.compose.files import StackFiles
from atoll.adapters.extensions.ssh.compose.forward import Forward
from atoll.adapters.linked.machine import COMMAND_SECONDS, Machine, refresh_machines
from atoll.adapters.zygote.start import hostname
from atoll.domain.compose.document import INIT, SERVICE_LABEL, StackTerms, document
from atoll.domain.compose.reading import read_stack
from atoll.domain.compose.stack import AGENT, Stack
from atoll.domain.errors import AtollError, Failed, Invalid, Unavailable
from atoll.domain.hosts.host import LOCAL
from atoll.domain.profile.demands import DEBUG, DISK
from atoll.domain.sandboxes.image import HOST
from atoll.domain.wall.interior import DEFAULT_FILES, DEFAULT_NETLINK
from atoll.domain.wall.isolation import Isolation
from atoll.ports.extension import Capabilities, CleanupReport, Provision
from atoll.ports.far import FarBox, FarPlace, LinkTerms, MachineLost
from atoll.wire.words.hosts import HostKind
from atoll.wire.words.sandboxes import Access
from atoll.wire.words.walls import IsolationLevel

NAME = "ext.compose-ssh"
READY_SECONDS = 40.0
POLL_SECONDS = 0.1
HOME_LABEL, SANDBOX_LABEL, GENERATION_LABEL = "atoll.home", "atoll.sandbox", "atoll.generation"
EXTENSION_LABEL = "atoll.extension"
"""The backend that made a container. Several backends of a home may use one Engine."""

INSTALLATION_LABEL = "atoll.installation"
"""The installation that made a container. Homes of one path on two machines may use one Engine."""

DEGRADED = (
    "disk: its files and volumes share the file system of that host",
    "uid: every sandbox there has the uid of the same user",
)
IGNORED = (
    (DISK, "its files and volumes share the file system of that host"),
    (DEBUG, "its services run under the own filter of that Engine"),
)

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _StackHost:
    """A host of stacks: their files, and the way to its Engine."""

    files: StackFiles
    forward: Forward

    @asynccontextmanager
    async def engine(self) -> AsyncIterator[FarEngine]:
        """Yield the Engine."""
        async with self.engine_and_socket() as (engine, _):
            yield engine

    @asynccontextmanager
    async def engine_and_socket(self) -> AsyncIterator[tuple[FarEngine, Path]]:
        """Yield the Engine, and a socket here that leads to it. Where it cannot be reached, raises
        why its host cannot, if it is that."""
        shell = self.forward.shell
        try:
            async with self.forward.open() as path, engine_at(path, shell.label) as engine:
                yield engine, path
        except Unavailable:
            await shell.run(":", seconds=COMMAND_SECONDS)
            raise


@dataclass(slots=True)
class ComposeBackend:
    """`ports.FarBackend` of stacks on the hosts that `find_hosts` returns. `tag` names this home
    there, `installation` is in the labels of what is swept, `kind` is what our programs run on."""

    find_hosts: FindHosts
    places: SshPlaces
    tag: str
    kind: str
    installation: str = ""
    _machines: dict[str, tuple[SshHost, SshClient, Machine]] = field(default_factory=dict)
    _compose: Compose | None = None

    @property
    def name(self) -> str:
        """`ext.compose-ssh`."""
        return NAME

    def capabilities(self) -> Capabilities:
        """Return what these hosts give. Raises `Failed` without compose on this machine."""
        check_installed()
        return Capabilities(
            isolation=IsolationLevel.CONTAINER,
            regions=("remote",),
            host_kind=HostKind.SSH,
            compose=True,
            needs_compose=True,
            ignores=IGNORED,
        )

    async def provision(self, request: Provision, terms: LinkTerms) -> FarPlace:
        """Bring the stack up on the request's host. Raises `Invalid` for a file with what is not
        allowed, `Failed` with the words of compose or of the agent's container."""
        stack = _stack(request)
        host = await self._stack_host(request.host)
        files = await host.files.prepare(request)
        async with host.engine_and_socket() as (far, path):
            await far.check_version()
            await self._sweep(far)
            await self._remove_containers(far, request.sandbox_id)
            compose_file = document(stack, self._terms(request, terms), files)
            for note in stack.notes:
                request.report(f"{note}.")
            request.report(f"Starting {len(stack.services)} services on host {request.host}.")
            try:
                await (await self._find_program()).up(path, self._project(request), compose_file)
                await host.files.give_key(request.sandbox_id, terms.key)
                await self._wait_ready(far, request)
                await self._check_services(far, request, stack)
            except BaseException:
                # Nothing half-built runs on; volumes of an earlier start stay.
                with suppress(AtollError):
                    await self._remove_containers(far, request.sandbox_id)
                raise
        return self._place(request, stack)

    async def attach(self, request: Provision) -> FarPlace | None:
        """Return the stack whose agent runs in this generation; None when none does."""
        host = await self._stack_host(request.host)
        async with host.engine() as far:
            containers = await far.containers(
                *self._mine,
                f"{SANDBOX_LABEL}={request.sandbox_id}",
                f"{GENERATION_LABEL}={request.generation}",
                f"{SERVICE_LABEL}={AGENT}",
            )
            if not any(each.state == "running" for each in containers):
                return None
        return self._place(request, _stack(request))

    async def carry(self, box: FarBox, near: socket.socket) -> None:
        """Carry bytes by a connection of its own. Raises `Unavailable` with the client's words, and
        `MachineLost` once the Engine says that the agent's container does not run."""
        host = await self._stack_host(_host_of(box))
        try:
            await host.files.carry(box.sandbox_id, near)
        except Unavailable:
            why = await self.cause(box)
            if why is not None:
                raise MachineLost(why) from None
            raise

    async def cause(self, box: FarBox) -> str | None:
        """Return why nothing of a sandbox runs; None while the agent's container does."""
        host = await self._stack_host(_host_of(box))
        async with host.engine() as far:
            containers = await far.containers(
                *self._mine,
                f"{SANDBOX_LABEL}={box.sandbox_id}",
                f"{GENERATION_LABEL}={box.generation}",
                f"{SERVICE_LABEL}={AGENT}",
            )
        if containers and containers[0].state not in ("exited", "dead"):
            return None
        how = (
            f"ended: {containers[0].status or containers[0].state}" if containers else "was removed"
        )
        return f"{host.forward.shell.label}: the container of the agent {how}"

    async def teardown(self, box: FarBox, *, keep_state: bool) -> CleanupReport:
        """Remove containers and networks; without `keep_state` volumes and files, too."""
        name = _host_of(box)
        if name == LOCAL:
            return CleanupReport()
        if name not in await self.find_hosts():
            left = f"the stack on host {name}, which is not known any more"
            return CleanupReport(leftovers=(left,))
        host = await self._stack_host(name)
        async with host.engine() as far:
            removed_parts = await self._remove_containers(far, box.sandbox_id)
            if not keep_state:
                labels = (self._home, f"{SANDBOX_LABEL}={box.sandbox_id}")
                volumes = await far.remove_volumes(*labels)
                removed_parts += [f"{volumes} volumes"] if volumes else []
        files = await host.files.end(box.sandbox_id, keep=keep_state)
        removed = tuple(f"{what} on host {name}" for what in removed_parts)
        return CleanupReport(removed + files.removed, files.leftovers)

    async def refresh(self, boxes: Sequence[FarBox], source: str) -> None:
        """Bring new objects to each host of these stacks once."""
        names = sorted({_host_of(box) for box in boxes})
        hosts = [await self._stack_host(name) for name in names]
        await refresh_machines([host.files.machine for host in hosts], source)

    async def close(self) -> None:
        """Close the shared connections."""
        for _, client, _ in self._machines.values():
            await client.close()

    @property
    def _home(self) -> str:
        return f"{HOME_LABEL}={self.tag}"

    @property
    def _mine(self) -> tuple[str, str]:
        """Labels of the containers of this home's stacks, and of no other backend's."""
        return self._home, SERVICE_LABEL

    def _project(self, request: Provision) -> str:
        return re.sub(r"[^a-z0-9_-]", "-", f"{self.tag}-{request.sandbox_id}".lower())

    async def _find_program(self) -> Compose:
        if self._compose is None:
            self._compose = await find_compose()
        return self._compose

    async def _sweep(self, far: FarEngine) -> None:
        """Remove the services of this installation's stacks whose agent ended: the link's end
        cannot end them. Those from before there was a label for installations stay until their
        sandbox is started, stopped or destroyed."""
        containers = await far.containers(*self._mine, f"{INSTALLATION_LABEL}={self.installation}")
        alive = {
            (each.labels or {}).get(SANDBOX_LABEL)
            for each in containers
            if (each.labels or {}).get(SERVICE_LABEL) == AGENT and each.state == "running"
        }
        ended = {
            (each.labels or {}).get(SANDBOX_LABEL)
            for each in containers
            if (each.labels or {}).get(SERVICE_LABEL) == AGENT and each.state in ("exited", "dead")
        }
        for sandbox in filter(None, ended - alive):
            await self._remove_containers(far, sandbox)
            _log.info("stack_swept", sandbox=sandbox)

    async def _remove_containers(self, far: FarEngine, sandbox_id: str) -> list[str]:
        """Stop and remove containers and networks of a sandbox. Returns what was removed."""
        sandbox = f"{SANDBOX_LABEL}={sandbox_id}"
        counts = (
            (await far.remove_containers(*self._mine, sandbox), "containers"),
            (await far.remove_networks(self._home, sandbox), "networks"),
        )
        return [f"{count} {what}" for count, what in counts if count]

    async def _wait_ready(self, far: FarEngine, request: Provision) -> None:
        """Wait until the link says that init is ready. Raises `Failed` with its last words."""
        labels = (f"{SANDBOX_LABEL}={request.sandbox_id}", f"{SERVICE_LABEL}={AGENT}")
        try:
            async with asyncio.timeout(READY_SECONDS):
                while True:
                    containers = await far.containers(*self._mine, *labels)
                    log = await far.last_lines(containers[0].id) if containers else "it is gone"
                    if "ready" in log.splitlines():
                        return
                    if not containers or containers[0].state != "running":
                        raise Failed(f"the container of the agent ended: {log[-500:]}")
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError as err:
            raise Unavailable("the container of the agent does not become ready") from err

    async def _check_services(self, far: FarEngine, request: Provision, stack: Stack) -> None:
        """Check that no service was removed meanwhile: a stack is ready whole or not at all.
        Raises `Failed`."""
        containers = await far.containers(*self._mine, f"{SANDBOX_LABEL}={request.sandbox_id}")
        present = {(each.labels or {}).get(SERVICE_LABEL) for each in containers}
        missing = [each.name for each in stack.services if each.name not in present]
        if missing:
            raise Failed(f"services were removed while the stack came up: {', '.join(missing)}")

    def _terms(self, request: Provision, terms: LinkTerms) -> StackTerms:
        profile = request.profile
        netlink = profile.network.netlink
        kept_labels = ((HOME_LABEL, self.tag), (SANDBOX_LABEL, str(request.sandbox_id)))
        return StackTerms(
            image="" if profile.image == HOST else profile.image,
            hostname=hostname(request.name),
            labels=(
                *kept_labels,
                (INSTALLATION_LABEL, self.installation),
                (EXTENSION_LABEL, NAME),
                (GENERATION_LABEL, str(request.generation)),
            ),
            kept_labels=kept_labels,
            limits=profile.resources,
            grace_seconds=terms.grace_seconds,
            netlink=DEFAULT_NETLINK if netlink is None else netlink,
            files=profile.resources.files or DEFAULT_FILES,
            writable=profile.workspace.access is not Access.READ_ONLY,
            bare=profile.workspace.access is Access.NONE,
        )

    async def _stack_host(self, name: str) -> _StackHost:
        host = (await self.find_hosts()).get(name)
        if host is None:
            raise Failed(f"host {name!r} is not known any more: its sandboxes cannot be reached")
        connection = self._machines.get(name)
        if connection is None or connection[0] != host:
            client = SshClient(name, host, self.places.folder)
            machine = Machine(client, self.tag, self.places.programs, self.kind)
            connection = host, client, machine
            self._machines[name] = connection
        _, client, machine = connection
        programs = await machine.send_programs()
        return _StackHost(StackFiles(machine), Forward(client, programs))

    def _place(self, request: Provision, stack: Stack) -> FarPlace:
        box = FarBox(
            request.sandbox_id, request.generation, (("host", request.host),), request.host
        )
        isolation = Isolation(IsolationLevel.CONTAINER, "docker compose", DEGRADED)
        return FarPlace(box, isolation, (INIT,), stack.agent.environment, stack.names)


def _stack(request: Provision) -> Stack:
    """Return the services of the request's file; a maintenance start has the agent's alone. Raises
    `Invalid`."""
    if request.compose_file is None:
        raise Invalid(
            f"{NAME} runs a compose file: name one as inputs.compose_bundle_ref, `repo:PATH`, or "
            "give it as inputs.compose_bundle",
            field="inputs.compose_bundle_ref",
        )
    try:
        stack = read_stack(request.compose_file)
    except Invalid as err:
        raise Invalid(
            f"the compose file cannot be used: {err.message}", field="inputs.compose_bundle_ref"
        ) from err
    return stack if request.maintenance_seconds is None else stack.alone()


def _host_of(box: FarBox) -> str:
    """Return the name of a far end's host, also of one whose start was interrupted."""
    return dict(box.data).get("host") or box.host
