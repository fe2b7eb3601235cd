"""The kinds of foreign machines that the suites over a link run on.

A new backend is one more line of `KINDS`: a name, why it cannot be had here, and what starts its
other side. Then `tests/adapters/extensions/link` runs every suite on it.
"""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from platform import machine
from tempfile import TemporaryDirectory
from typing import Any

from atoll.adapters.extensions.ssh.backend import FindHosts, SshBackend
from atoll.adapters.extensions.ssh.client import SshHost
from atoll.adapters.extensions.ssh.compose.backend import ComposeBackend
from atoll.adapters.extensions.ssh.identity import SshIdentity
from atoll.adapters.extensions.ssh.machines import OpenSshMachines, ssh_places
from atoll.adapters.linked.extension import LinkedExtension
from atoll.adapters.rented.vendor import SANDBOX
from atoll.domain.hosts.reading import best_key, read_address
from atoll.domain.ids import SandboxId
from atoll.ports.extension import ExtensionSetup, Provision, VendorKey
from atoll.ports.far import FarBackend
from atoll.zygote.host.home import Home
from atoll.zygote.jobs.programs import install
from tests.peers.clouds.cloud import CLOUDS, OPENSHELL
from tests.peers.docker_daemon import IMAGE, docker_daemon, why_not
from tests.peers.machines import ssh_server
from tests.peers.machines.microvm import home_with_image, machines
from tests.peers.machines.microvm import missing as microvm_missing
from tests.peers.machines.ssh_server import SshServer, throwaway_ssh_server

TAG = "atoll-test"
COMPOSE_FILE = f"services: {{agent: {{image: '{IMAGE}'}}}}\n"
NO_COMPOSE = "" if shutil.which("docker-compose") else "no compose (apt-get install docker-compose)"


@dataclass(frozen=True, slots=True)
class FarSide:
    """The other side, which runs. `backend` makes one more backend of it, in a running loop;
    `placed` is a request as this backend wants it. `workspace` is where the files of a sandbox are
    seen from here, or None where they cannot be. `walled`: the wall there is ours."""

    backend: Callable[[], FarBackend]
    placed: Callable[[Provision], Provision] = lambda request: request
    workspace: Callable[[SandboxId], Path | None] = lambda _: None
    walled: bool = True


@dataclass(frozen=True, slots=True)
class FarKind:
    """A kind of foreign machine. `missing` says why there is none here; `opened` starts the other
    side of a home, whose programs are installed."""

    name: str
    missing: str
    opened: Callable[[Path], AbstractContextManager[FarSide]]


@contextmanager
def started(kind: FarKind) -> Iterator[FarSide]:
    """Start the other side of a kind, for a home of its own."""
    with TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        install(Home(Path(folder)))
        with kind.opened(Path(folder)) as side:
            yield side


async def known_host(home: Path, box: SshServer) -> SshHost:
    """Let a home into a machine, and return the machine as that home knows it then."""
    places = ssh_places(home)
    identity = SshIdentity(places.folder, TAG)
    box.authorize(await identity.authorized_line())
    shown = await OpenSshMachines(places, "test", machine()).host_keys(read_address(box.address))
    key = best_key(shown)
    assert key is not None
    return SshHost(box.address, key, str(identity.file))


def hosts_of(home: Path, box: SshServer) -> FindHosts:
    """Let a home into a machine, and return what finds it as `box`."""
    known = {"box": asyncio.run(known_host(home, box))}

    async def find() -> Mapping[str, SshHost]:
        return known

    return find


@contextmanager
def ssh(home: Path) -> Iterator[FarSide]:
    """A machine that SSH reaches."""
    with throwaway_ssh_server() as box:
        hosts = hosts_of(home, box)
        yield FarSide(
            lambda: SshBackend(hosts, ssh_places(home), TAG, machine()),
            lambda request: replace(request, host="box"),
            lambda sandbox: _only(box.home, sandbox),
        )


@contextmanager
def compose_ssh(home: Path) -> Iterator[FarSide]:
    """An Engine on a machine that SSH reaches."""
    with docker_daemon() as daemon, throwaway_ssh_server(daemon.folder / "d.sock") as box:
        hosts = hosts_of(home, box)
        yield FarSide(
            lambda: ComposeBackend(hosts, ssh_places(home), TAG, machine()),
            lambda request: replace(request, host="box", compose_file=COMPOSE_FILE),
            lambda sandbox: _only(box.home, sandbox),
        )


@contextmanager
def microvm(home: Path) -> Iterator[FarSide]:
    """QEMU on this machine. Nothing sees a guest's files but its link."""
    home_with_image(home)
    yield FarSide(lambda: machines(home))


def rented_from(
    make: Callable[[ExtensionSetup], LinkedExtension],
    options: Callable[[Any], dict[str, object]],
    serve: Callable[[], AbstractContextManager[Any]],
    key: str,
    *,
    walled: bool,
) -> Callable[[Path], AbstractContextManager[FarSide]]:
    """Return what opens the peer of a vendor, whose table of settings is `options` of the peer."""

    async def keys(_extension: str, _sandbox: SandboxId | None) -> Sequence[VendorKey]:
        return (VendorKey("sec_vendor", key),)

    @contextmanager
    def opened(home: Path) -> Iterator[FarSide]:
        with serve() as peer:
            setup = ExtensionSetup(home, TAG, options=options(peer), keys=keys)

            def workspace(sandbox: SandboxId) -> Path | None:
                rented = [one for one in peer.live if one.tags.get(SANDBOX) == sandbox]
                found = [one.machine for one in rented if one.machine is not None]
                workspace: Path | None = found[0].workspace(sandbox) if found else None
                return workspace

            yield FarSide(lambda: backend_of(make(setup)), workspace=workspace, walled=walled)

    return opened


def backend_of(extension: LinkedExtension) -> FarBackend:
    """Return the backend of an extension that an entry point made."""
    return extension.backend


def _only(home: Path, sandbox: SandboxId) -> Path:
    (found,) = home.glob(f".atoll/*/boxes/{sandbox}/workspace")
    return found


NEEDS_ROOT = "" if os.geteuid() == 0 else "needs root"

KINDS = (
    FarKind("ssh", ssh_server.missing() or NEEDS_ROOT, ssh),
    FarKind("microvm", microvm_missing(), microvm),
    FarKind("compose-ssh", ssh_server.missing() or why_not() or NO_COMPOSE, compose_ssh),
    *(
        FarKind(
            one.name,
            one.missing() or "",
            rented_from(one.make, one.options, one.serve, one.key, walled=one is not OPENSHELL),
        )
        for one in (*CLOUDS, OPENSHELL)
    ),
)
