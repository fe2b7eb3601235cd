"""What a backend knows of a profile's image and limits that it cannot give, before a start."""

from pathlib import Path

import pytest

from atoll.adapters.extensions.docker.engine import Info
from atoll.adapters.extensions.docker.extension import Docker
from atoll.adapters.extensions.docker.extension import Settings as DockerSettings
from atoll.adapters.extensions.microvm.backend import _place
from atoll.adapters.extensions.microvm.entry import make as make_microvm
from atoll.adapters.extensions.microvm.image import GuestImage, TrialRecord
from atoll.adapters.extensions.namespaces.extension import make as make_namespaces
from atoll.adapters.extensions.openshell.entry import make as make_openshell
from atoll.adapters.extensions.ssh.entry import make as make_ssh
from atoll.domain.errors import Failed
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile
from atoll.domain.routes.candidate import ImageKind
from atoll.domain.wall.resources import Resources
from atoll.ports.extension import ExtensionSetup, JudgesProfiles, Provision
from atoll.wire.words.walls import IsolationLevel
from atoll.wire.zygote.messages import Reported

OPENSHELL = {"openshell": {"gateway": "http://127.0.0.1:1", "images": {"py": "python:3.12"}}}


@pytest.fixture
def backends(tmp_path: Path) -> dict[str, JudgesProfiles]:
    images = tmp_path / "images"
    (images / "small").mkdir(parents=True)
    (images / "tools").mkdir()
    (images / "tools" / "Dockerfile").write_text("FROM debian:12\n")
    (images / "base.tar").write_bytes(b"")
    setup = ExtensionSetup(tmp_path, "atoll-test", options=OPENSHELL)
    unable = make_namespaces(setup)
    unable._link._reported = Reported(False, 1, "0.11.0", "c", overlays=False)
    return {
        "namespaces": make_namespaces(setup),
        "no overlays": unable,
        "docker": Docker(DockerSettings(tmp_path / "z.sock", "t", images)),
        "openshell": make_openshell(setup),
        "microvm": make_microvm(setup),
        "ssh": make_ssh(setup),
    }


@pytest.mark.parametrize(
    ("backend", "image", "lack"),
    [
        ("namespaces", "host", ""),
        ("namespaces", "small", ""),
        ("namespaces", "smal", "atoll image pull smal"),
        ("namespaces", "debian:12", "atoll image pull debian:12"),
        ("namespaces", "tools", "atoll image pull tools"),
        ("no overlays", "host", ""),
        ("no overlays", "small", "an image needs an overlay"),
        ("docker", "debian:12", ""),
        ("docker", "archive:base.tar", ""),
        ("docker", "archive:base.tgz", "base.tgz cannot be read: No such file"),
        ("docker", "archive:../x", "is not the name of an archive"),
        ("docker", "build:tools", ""),
        ("docker", "build:small", "has no file Dockerfile"),
        ("docker", "build:Tools", "cannot name a folder to build"),
        ("docker", "a b", "is not the reference of an image"),
        ("openshell", "py", ""),
        ("openshell", "host", "the setting `images` of ext.openshell names one"),
        ("ssh", "debian:12", ""),
    ],
)
def test_image_that_is_not_there_is_known_before_a_start(
    backends: dict[str, JudgesProfiles], backend: str, image: str, lack: str
) -> None:
    lacks = backends[backend].lacks(Profile("profile.x", "1", image=image))
    assert lack in "; ".join(lacks) and bool(lacks) is bool(lack)


def test_tree_without_what_its_agent_runs_on_is_known_before_a_start(
    backends: dict[str, JudgesProfiles],
) -> None:
    for agent, lack in (
        ("aider@1.0", "aider runs on python3, which the image small"),
        ("codex", ""),
    ):
        lacks = backends["namespaces"].lacks(Profile("profile.x", "1", image="small", agent=agent))
        assert lack in "; ".join(lacks) and bool(lacks) is bool(lack)


@pytest.mark.parametrize(
    ("resources", "lack"),
    [
        (Resources(), ""),
        (Resources(cpu=2.0, memory_mb=256), ""),
        (Resources(cpu=2.5), "whole processors, and resources.cpu is 2.5"),
        (Resources(cpu=0.5), "whole processors, and resources.cpu is 0.5"),
        (Resources(memory_mb=255), "at least 256 MiB of memory, and resources.memory_mb is 255"),
    ],
)
def test_size_that_no_machine_has_is_known_before_a_start(
    backends: dict[str, JudgesProfiles], resources: Resources, lack: str
) -> None:
    lacks = backends["microvm"].lacks(Profile("profile.x", "1", resources=resources))
    assert lack in "; ".join(lacks) and bool(lacks) is bool(lack)


def test_size_that_nobody_named_is_rounded_and_said() -> None:
    image = GuestImage(Path("/nowhere"), TrialRecord("", "", ()))
    profile = Profile("profile.x", "1", resources=Resources(cpu=2.5, memory_mb=100))
    degraded = _place(Provision(SandboxId("sb_1"), 1, "x", profile), image).isolation.degraded
    sizes = [note for note in degraded if note.startswith("size: ")]
    assert ["2 processors, and resources.cpu is 2.5" in sizes[0], "256 MiB" in sizes[1]] == [1, 1]


@pytest.mark.parametrize(
    ("options", "lack"),
    [(["name=seccomp", "name=rootless"], "is rootless"), (["name=cgroupns"], "has no seccomp")],
)
async def test_daemon_that_gives_no_wall_is_refused_before_a_start(
    tmp_path: Path, options: list[str], lack: str
) -> None:
    (tmp_path / "docker.sock").touch()
    docker = Docker(
        DockerSettings(tmp_path / "z.sock", "t", tmp_path, f"unix://{tmp_path}/docker.sock")
    )
    assert docker.capabilities().isolation is IsolationLevel.CONTAINER
    docker._info = Info(security_options=options)
    with pytest.raises(Failed, match=lack):
        docker.capabilities()


def test_cloud_shows_the_kinds_of_image_that_it_has_templates_for(tmp_path: Path) -> None:
    made = make_openshell(ExtensionSetup(tmp_path, "atoll-test", options=OPENSHELL))
    assert made.capabilities().images == {ImageKind.OTHER}
