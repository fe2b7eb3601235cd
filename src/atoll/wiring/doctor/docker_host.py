"""The Docker daemon of a home, seen from the machine: its users, its abilities, its leftovers.

`up` asks for the group that opens its socket, `down` clears containers away, `doctor` reports
on it. The control plane itself speaks to it through `ext.docker`. The daemon's client is loaded
only where `ext.docker` is on.
"""

import asyncio
import grp
import os
import socket
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from atoll.domain.errors import AtollError
from atoll.ports.host import Finding
from atoll.wiring.control.settings import ControlSettings, read_settings
from atoll.zygote.host.home import Home
from atoll.zygote.host.installation import read_installation

if TYPE_CHECKING:
    from atoll.adapters.extensions.docker.engine import Info, Version

GROUP = "docker"
"""Whose socket it usually is, should there be none yet to look at."""


def groups_for(home: Path) -> tuple[int, ...]:
    """Return the supplementary groups a control plane of this home needs: the one of the daemon's
    socket, where `ext.docker` is on. That group is as good as root on this machine."""
    settings = read_settings(home, os.environ, {})
    if "docker" not in settings.backends.extensions:
        return ()
    try:
        found = _socket_path(settings.docker.docker_host).stat()
    except OSError:
        return _usual_group()
    opens = found.st_mode & stat.S_IRGRP and found.st_mode & stat.S_IWGRP
    return (found.st_gid,) if opens and found.st_gid != 0 else ()


def _usual_group() -> tuple[int, ...]:
    try:
        return (grp.getgrnam(GROUP).gr_gid,)
    except KeyError:
        return ()


def clear(home: Path) -> None:
    """Remove every container of this home; their runtimes are gone. A daemon that does not
    answer is left alone: the next start clears up."""
    try:
        settings = read_settings(home, os.environ, {})
        if "docker" in settings.backends.extensions:
            asyncio.run(_clear(settings))
    except AtollError:
        return


async def _clear(settings: ControlSettings) -> None:
    from atoll.adapters.extensions.docker.containers import Containers
    from atoll.adapters.extensions.docker.engine import Engine

    engine = Engine(settings.docker.docker_host)
    try:
        made = read_installation(settings.home)
        kept = {record.parent.name for record in Home(settings.home).boxes.glob("*/box.json")}
        containers = Containers(engine, made.tag, made.id)
        for one in await containers.all(kept):
            await containers.remove(one.id)
    finally:
        await engine.close()


def findings(home: Path) -> Iterator[Finding]:
    """Report whether a daemon answers, and what it lacks."""
    try:
        settings = read_settings(home, os.environ, {})
    except AtollError as err:
        yield Finding("settings", "fail", err.message, "Mend config.toml.")
        return
    if "docker" not in settings.backends.extensions:
        yield Finding("docker", "ok", "ext.docker is not switched on (setting `extensions`)")
        return
    try:
        version, info = asyncio.run(_look(settings.docker.docker_host))
    except AtollError as err:
        yield Finding("docker", "warn", err.message, "See docs/run/docker.md.")
        return
    yield from _check_daemon(settings.docker.docker_host, version, info)


async def _look(host: str) -> "tuple[Version, Info]":
    from atoll.adapters.extensions.docker.engine import Engine

    engine = Engine(host)
    try:
        return await engine.version(), await engine.info()
    finally:
        await engine.close()


def _check_daemon(host: str, version: "Version", info: "Info") -> Iterator[Finding]:
    """Yield the findings about a Docker daemon."""
    if info.has("rootless"):
        text = "it is rootless: the uids of its containers are not ours to know"
        yield Finding("docker", "fail", text, "Point docker_host to a daemon run by root.")
        return
    if not info.has("seccomp"):
        yield Finding("docker", "fail", "it has no seccomp", "Use a kernel and daemon with it.")
        return
    yield Finding("docker", "ok", f"{version.version} answers at {host}")
    bounds = {
        "memory": info.memory_limit,
        "swap": info.swap_limit,
        "cpu": info.cpu_cfs_quota,
        "pids": info.pids_limit,
    }
    lacking = ", ".join(name for name, given in bounds.items() if not given)
    if lacking:
        yield Finding(
            "docker limits", "warn", f"the daemon cannot bound {lacking}", "See its info."
        )
    if os.geteuid() == 0 and not _sees_our_mounts(host):
        yield Finding(
            "docker mounts",
            "warn",
            "the daemon has a mount namespace of its own: unless what is mounted here appears "
            "there, no sandbox starts",
            "Run it without MountFlags, PrivateMounts and their like in its unit.",
        )
    if os.geteuid() == 0 and not _group_opens(host):
        yield Finding(
            "docker socket",
            "warn",
            "no group opens it, and the control plane is not root",
            "Run dockerd with `--group docker`, as its packages do.",
        )


def _sees_our_mounts(host: str) -> bool:
    """Return whether the daemon is in this mount namespace; True where that is unknown. Behind a
    socket that systemd opened, systemd's own namespace is compared."""
    try:
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(str(_socket_path(host)))
            pid, _uid, _gid = struct.unpack(
                "3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            )
        theirs = Path(f"/proc/{pid}/ns/mnt").stat()
        ours = Path("/proc/self/ns/mnt").stat()
    except OSError:
        return True
    return (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)


def _group_opens(host: str) -> bool:
    try:
        found = _socket_path(host).stat()
    except OSError:
        return False
    return found.st_gid != 0 and bool(found.st_mode & stat.S_IWGRP)


def _socket_path(host: str) -> Path:
    from atoll.adapters.extensions.docker.engine import socket_path

    return socket_path(host)
