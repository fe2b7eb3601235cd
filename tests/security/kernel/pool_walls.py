"""Two sandboxes side by side behind one kind of wall: one attacks, one must not notice."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from atoll.adapters.extensions.docker.extension import Docker, Settings
from atoll.domain.ids import SandboxId
from atoll.domain.network.network import Network
from atoll.domain.profile.profile import Profile
from atoll.domain.wall.resources import Resources
from atoll.ports.extension import Provision
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from tests.claims import claim_person
from tests.peers.docker_daemon import IMAGE, docker_daemon, why_not

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
PIDS = 256
LIMITS = wire.Limits(memory_bytes=1 << 30, pids=PIDS)
RESOURCES = Resources(memory_mb=1024, pids=PIDS)
NAMES = ("sb_taker", "sb_quiet")
ASKED = {
    "sb_none": wire.Limits(netlink=0),
    "sb_three": wire.Limits(netlink=3),
    "sb_few": wire.Limits(files=300),
}
"""Further sandboxes, for which a profile asks for other numbers."""


@contextmanager
def walled_pair(kind: str) -> Iterator[tuple[ZygoteRig, wire.Box, wire.Box]]:
    """A rig and both sandboxes, behind `root`, `rootless` or `docker`; skips where there is no
    such wall."""
    if kind != "rootless" and os.geteuid() != 0:
        pytest.skip("needs root")
    if kind == "docker" and why_not():
        pytest.skip(f"no Docker daemon: {why_not()}")
    uid = claim_person() if kind == "rootless" else os.geteuid()
    with zygote_rig(uid) as rig:
        if kind != "docker":
            taker, quiet = (rig.start(name, env=ENV, limits=LIMITS) for name in NAMES)
            yield rig, taker, quiet
            return
        with docker_daemon() as daemon:
            asyncio.run(_contained(rig, daemon.host))
            listed = rig.ask(wire.ListBoxes())
            assert isinstance(listed, wire.Listed)
            boxes = {box.sandbox_id: box for box in listed.boxes}
            yield rig, boxes[NAMES[0]], boxes[NAMES[1]]


def asked(rig: ZygoteRig, box: wire.Box, name: str) -> wire.Box:
    """One of `ASKED` behind the wall of `box`; containers are there from the beginning."""
    if box.wall == "bubblewrap":
        return rig.start(name, env=ENV, limits=ASKED[name])
    listed = rig.ask(wire.ListBoxes())
    assert isinstance(listed, wire.Listed)
    return next(each for each in listed.boxes if each.sandbox_id == name)


async def _contained(rig: ZygoteRig, host: str) -> None:
    docker = Docker(Settings(rig.home.socket, rig.home.tag, rig.home.root / "images", host))
    profile = Profile("profile.x", "1", "ext.docker", IMAGE, resources=RESOURCES)
    for name in NAMES:
        await docker.provision(Provision(SandboxId(name), 1, name[3:], profile))
    for name, limits in ASKED.items():
        other = replace(
            profile,
            network=Network(netlink=limits.netlink),
            resources=replace(RESOURCES, files=limits.files),
        )
        await docker.provision(Provision(SandboxId(name), 1, name[3:], other))
    await docker.close()
