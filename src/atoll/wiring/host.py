"""The machine this process runs on as `ports.host.Host`: `up`, `down` and `doctor`.

`up` ends by becoming another program; all that lasts is started here, nothing runs here.
A command loads what it needs itself: `up` should not wait for the shelves of agents and images.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import atoll
from atoll.adapters.agents.removed import sweep_removed
from atoll.domain.errors import Conflict, Failed
from atoll.wiring.control.presence import (
    CONTROL_MODULE,
    control_pid,
    control_pids,
    gateway_pid,
    place,
)
from atoll.wiring.doctor import docker_host, microvm
from atoll.wiring.launch import mount_view, zygote_process
from atoll.wiring.launch.handed_file import hand_over_named, handed_over
from atoll.wiring.launch.home_setup import prepare_home
from atoll.wiring.launch.start_link import StartLink
from atoll.zygote.host import kernel
from atoll.zygote.host.home import Home
from atoll.zygote.wall import control_group

if TYPE_CHECKING:
    from atoll.ports.agents import AgentShelf
    from atoll.ports.database import Database
    from atoll.ports.host import Finding, UpOptions
    from atoll.ports.images import ImageBuilder, ImageShelf
    from atoll.ports.outside.local_wall import DesktopOptions, LocalWall

STOP_SECONDS = 15.0


class LocalHost:
    """The machine this process runs on."""

    def up(self, options: "UpOptions") -> NoReturn:
        """Start what is missing and become the control plane, unless there is one."""
        kernel.forbid_cores()
        home = Home(options.home.resolve())
        uid = prepare_home(home.root)
        sweep_removed(home.root / "agents")
        link = zygote_process.start(home)
        control = control_pid(home, place(home.root, options.replica))
        if control is None:
            with link or contextlib.nullcontext():
                _become_control(home, options, uid, link)
        if link is not None:
            link.keep()
            print(
                "The zygote was gone and runs again. Sandboxes that ran have failed with that "
                "reason and kept their files: `atoll start` brings them up."
            )
            raise SystemExit(0)
        raise Conflict(
            f"Atoll runs already for {home.root} (pid {control}): `atoll login` prints a "
            "login link, `atoll down` ends it"
        )

    def down(self, home: Path) -> None:
        """End all control planes, then the zygote with every sandbox."""
        there = Home(home.resolve())
        for pid in control_pids(there):
            _end(pid)
        if (gateway := gateway_pid(there)) is not None:
            _end(gateway)
        zygote_process.end(there)
        docker_host.clear(there.root)
        microvm.clear(there.root)

    def doctor(self, home: Path, *, public: bool = False) -> "Sequence[Finding]":
        """Return what this machine can isolate, or what a public home lacks."""
        if public:
            from atoll.wiring.doctor import public as strangers

            return tuple(strangers.findings(home.resolve()))
        from atoll.wiring.doctor import report as doctor

        return doctor.findings(Home(home.resolve()))

    def build_vm(self, home: Path, packages: Sequence[str], say: Callable[[str], None]) -> str:
        """Make the image that machines of `home` boot from."""
        from atoll.adapters.extensions.microvm.build import Builder
        from atoll.zygote.jobs.programs import find_bwrap

        builder = Builder(home.resolve(), find_bwrap(), say, tuple(packages))
        record = asyncio.run(builder.build())
        if record.no_kvm:
            return f"ready; machines are emulated and slow, since {record.no_kvm}"
        return "ready; machines run with KVM"

    def desktop(self, options: "DesktopOptions") -> "LocalWall":
        """Return the wall of workers on this machine."""
        from atoll.wiring.launch.desktop_wall import desktop_wall

        return desktop_wall(options)

    def agents(self, home: Path) -> "AgentShelf":
        """Return the agents installed in `home`."""
        from atoll.adapters.agents.shelf import LayerShelf
        from atoll.zygote.jobs.programs import find_bwrap

        places = Home(home.resolve())
        try:
            bwrap = find_bwrap()
        except Failed:
            bwrap = None
        return LayerShelf(places.agents, further=(places.installed,), bwrap=bwrap)

    def images(self, home: Path) -> "ImageShelf":
        """Return the roots unpacked in `home`."""
        from atoll.wiring.control.images import image_shelf

        return image_shelf(Home(home.resolve()))

    def builder(self, home: Path) -> "ImageBuilder":
        """Return the builder of the Dockerfiles of `home`."""
        from atoll.wiring.control.image_builder import DaemonBuilder

        return DaemonBuilder.of(home.resolve())

    def database(self, home: Path) -> "Database":
        """Return the database of `home`."""
        from atoll.wiring.database import HomeDatabase

        return HomeDatabase(Home(home.resolve()))


def _become_control(home: Home, options: "UpOptions", uid: int, link: StartLink | None) -> NoReturn:
    argv = zygote_process.python(CONTROL_MODULE, "--home", str(home.root), "--print-login")
    argv += _reach_flags(options)
    if link is not None:
        argv += ["--starter-fd", str(link.fileno())]
        os.set_inheritable(link.fileno(), True)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    }
    environment["PYTHONPATH"] = str(Path(atoll.__file__).parents[1])
    zygote = zygote_process.zygote_pid(home)
    machines = control_group.open_machines(zygote, home)
    if machines is not None:
        argv += ["--machines-fd", str(machines)]
        os.set_inheritable(machines, True)
    control_group.enter(zygote, home, options.replica)
    try:
        if os.geteuid() == 0:
            handed = hand_over_named(home.root, uid, os.environ)
            argv += [word for pair in handed.items() for word in ("--handed", *pair)]
            mount_view.enter_if_closed(home.root)
            environment["HOME"] = str(home.root)
            groups = (*docker_host.groups_for(home.root), *microvm.groups_for(home.root))
            kernel.drop_to(uid, groups)
        kernel.set_no_new_privileges()
        os.chdir(home.root)
        sys.stdout.flush()
        # An interrupt waits until the control plane takes it: its interpreter would print where it
        # was.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.execve(argv[0], argv, environment)  # noqa: S606  an argv list of ours
    except OSError as err:
        raise Failed(f"the control plane cannot be started: {err}") from err


def _reach_flags(options: "UpOptions") -> list[str]:
    flags = ["--browser"] if options.browser else []
    flags += ["--port", str(options.port)] if options.port is not None else []
    flags += ["--replica", options.replica] if options.replica is not None else []
    flags += ["--lan"] if options.lan else []
    flags += ["--host", options.host] if options.host is not None else []
    flags += ["--public-url", options.public_url] if options.public_url is not None else []
    if options.tls is not None:
        certificate, key = map(handed_over, options.tls)
        flags += ["--tls-cert", certificate, "--tls-key", key]
    return flags


def _end(pid: int) -> None:
    """End a control plane: by SIGTERM, and by SIGKILL when that takes too long."""
    with contextlib.suppress(ProcessLookupError):
        pidfd = os.pidfd_open(pid)
        try:
            for number in (signal.SIGTERM, signal.SIGKILL):
                signal.pidfd_send_signal(pidfd, number)
                if zygote_process.await_end(pidfd, STOP_SECONDS):
                    return
        finally:
            os.close(pidfd)
