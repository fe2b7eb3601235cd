"""Images built and pulled by a real daemon: limits, logs, and what is refused before it hears."""

import asyncio
import io
import json
import os
import subprocess
import tarfile
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from atoll.adapters.extensions.docker.builds import MAX_LINES, Builds
from atoll.adapters.extensions.docker.engine import BuildRequest, Engine
from atoll.adapters.extensions.docker.images import find
from atoll.adapters.extensions.docker.settings import BuildRules, DockerSettings
from atoll.domain.errors import AtollError, Failed, Forbidden, Invalid, LimitReached
from atoll.testing import ImageBuilderContract
from atoll.wiring.control.image_builder import DaemonBuilder
from atoll.wiring.control.settings import ControlSettings
from tests.peers.api import until
from tests.peers.docker_daemon import IMAGE, DockerDaemon, docker_daemon, why_not
from tests.peers.registry import Registry, registry

pytestmark = [
    pytest.mark.docker,
    pytest.mark.root,
    pytest.mark.skipif(bool(why_not()), reason=f"no Docker daemon: {why_not()}"),
]

LITTLE = BuildRules(memory_mb=64, seconds=60, context_mb=4)


@pytest.fixture(scope="module")
def daemon() -> Iterator[DockerDaemon]:
    with docker_daemon() as running:
        yield running


@pytest.fixture
async def builds(daemon: DockerDaemon, tmp_path: Path) -> AsyncIterator[Builds]:
    engine = Engine(daemon.host)
    yield Builds(engine, tmp_path, LITTLE)
    await engine.close()


def recipe(builds: Builds, name: str, *lines: str, base: str = IMAGE) -> None:
    place = builds.folder / name
    place.mkdir(exist_ok=True)
    (place / "Dockerfile").write_text("\n".join([f"FROM {base}", *lines, ""]))


async def refused(builds: Builds, name: str) -> AtollError:
    with pytest.raises(AtollError) as caught:
        await find(builds, f"build:{name}", lambda _line: None)
    return caught.value


def images(daemon: DockerDaemon, name: str) -> list[str]:
    return daemon.run("images", "-q", f"atoll-build/{name}").split()


async def test_folder_is_built_once_for_its_content_and_told(
    builds: Builds, daemon: DockerDaemon
) -> None:
    (builds.folder / "tools").mkdir()
    (builds.folder / "tools" / "tool").write_text("first")
    recipe(builds, "tools", "ENV MADE=yes", "COPY tool /tool", "RUN cat /tool > /made && id -u")
    told: list[str] = []
    first = await find(builds, "build:tools", told.append)
    assert dict(first.env)["MADE"] == "yes"
    assert any("MiB are sent" in line for line in told)
    assert any(line.startswith("tools: Step 3/4") for line in told), told
    told.clear()
    assert await find(builds, "build:tools", told.append) == first
    assert told == []
    (builds.folder / "tools" / "tool").write_text("second")
    second = await find(builds, "build:tools", told.append)
    assert second.id != first.id and len(images(daemon, "tools")) == 2
    assert daemon.run("run", "--rm", "--network=none", second.id, "cat", "/made") == "second"
    assert len(await builds.remove("tools")) == 2
    assert images(daemon, "tools") == [] and daemon.containers() == []


async def test_commands_of_a_build_have_no_network_and_no_more_memory(builds: Builds) -> None:
    recipe(builds, "alone", "RUN ip -o link | wc -l | grep -qx 1")
    await builds.image("alone", lambda _line: None)
    recipe(builds, "greedy", "RUN python3 -c 'bytearray(256 << 20)'")
    failure = await refused(builds, "greedy")
    assert isinstance(failure, Failed) and "could not be built" in failure.message


async def test_command_that_fails_is_told_with_its_words(builds: Builds) -> None:
    recipe(builds, "broken", "RUN echo so it goes && exit 7")
    told: list[str] = []
    with pytest.raises(Failed, match="returned a non-zero code: 7"):
        await builds.image("broken", told.append)
    assert "broken: so it goes" in told


async def test_build_that_takes_too_long_is_ended(builds: Builds, daemon: DockerDaemon) -> None:
    builds.rules = BuildRules(seconds=1)
    recipe(builds, "slow", "RUN sleep 300")
    assert isinstance(await refused(builds, "slow"), LimitReached)
    await asyncio.to_thread(until, daemon.containers, lambda names: names == [])


async def test_build_that_prints_without_end_is_told_in_part(builds: Builds) -> None:
    recipe(builds, "loud", "RUN seq 1 5000")
    told: list[str] = []
    await builds.image("loud", told.append)
    assert len(told) < MAX_LINES + 10 and "left out" in told[-1]


async def test_recipe_that_asks_for_more_never_reaches_the_daemon(
    builds: Builds, daemon: DockerDaemon
) -> None:
    recipe(builds, "fetching", "ADD http://169.254.169.254/latest /x")
    assert isinstance(await refused(builds, "fetching"), Invalid)
    builds.rules = BuildRules(bases=("debian:*",))
    recipe(builds, "foreign")
    assert isinstance(await refused(builds, "foreign"), Forbidden)
    assert isinstance(await refused(builds, "../foreign"), Invalid)
    assert isinstance(await refused(builds, "absent"), Invalid)
    assert images(daemon, "fetching") + images(daemon, "foreign") == []


async def test_base_that_makes_its_builders_fetch_is_refused(
    builds: Builds, daemon: DockerDaemon
) -> None:
    trigger = "ONBUILD ADD http://127.0.0.1:1/x /x"
    small = str(daemon.folder / "small.tar")
    daemon.run("import", "--change", trigger, small, "atoll-test/trap:1")
    recipe(builds, "trapped", base="atoll-test/trap:1")
    failure = await refused(builds, "trapped")
    assert "asks whoever builds on it" in failure.message
    daemon.run("rmi", "atoll-test/trap:1")


async def test_tag_moved_while_it_is_built_stays_the_image_that_was_judged(
    builds: Builds, daemon: DockerDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: by its name the same recipe stands on the other image."""
    small, base = str(daemon.folder / "small.tar"), "atoll-test/moved:1"
    for tag, word in ((base, "judged"), ("atoll-test/other:1", "another")):
        daemon.run("import", "--change", f"ENV WHO={word}", small, tag)
    builds.rules = BuildRules(bases=("atoll-test/moved:*",))
    plain = Engine.build

    def build(self: Engine, building: BuildRequest, limits: Mapping[str, str]) -> Any:
        daemon.run("tag", "atoll-test/other:1", base)
        return plain(self, building, limits)

    monkeypatch.setattr(Engine, "build", build)
    recipe(builds, "moved", f"COPY --from={base} /bin/true /copied", base=f"{base} AS first")
    made = await builds.image("moved", lambda _line: None)
    assert made.config is not None and "WHO=judged" in (made.config.env or [])
    by_name = await builds.image("moved", lambda _line: None, again=True)
    assert by_name.config is not None and "WHO=another" in (by_name.config.env or [])
    # Built before, and no longer allowed: it is not taken from what lies there.
    builds.rules = BuildRules(bases=("debian:*",))
    with pytest.raises(Forbidden):
        await builds.image("moved", lambda _line: None)
    await builds.remove("moved")
    daemon.run("rmi", base, "atoll-test/other:1")


DOCKER = "application/vnd.docker"


@pytest.fixture(scope="module")
def shop() -> Iterator[Registry]:
    with registry() as serving:
        yield serving


def stocked(shop: Registry) -> str:
    """The digest of an image with one layer of 3 MiB."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        info = tarfile.TarInfo("noise")
        info.size = 3 << 20
        tar.addfile(info, io.BytesIO(os.urandom(info.size)))
    layer = shop.add(made.getvalue())
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    root = {"type": "layers", "diff_ids": [layer]}
    config = shop.add(
        json.dumps({"architecture": machine, "os": "linux", "config": {}, "rootfs": root}).encode()
    )
    kinds = {config: f"{DOCKER}.container.image.v1+json", layer: f"{DOCKER}.image.rootfs.diff.tar"}
    told = [
        {"mediaType": kind, "size": len(shop.blobs[digest]), "digest": digest}
        for digest, kind in kinds.items()
    ]
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{DOCKER}.distribution.manifest.v2+json",
        "config": told[0],
        "layers": told[1:],
    }
    return shop.add(json.dumps(manifest).encode())


async def test_image_is_pulled_by_its_digest_and_its_progress_told(
    builds: Builds, shop: Registry, daemon: DockerDaemon
) -> None:
    told: list[str] = []
    digest = stocked(shop)
    wanted = f"127.0.0.1:{shop.port}/team/small@{digest}"
    image = await find(builds, wanted, told.append)
    asked = [path for path, _authorization in shop.seen]
    assert any(digest in path for path in asked)
    assert not any(path.endswith("/manifests/latest") for path in asked)
    assert told[0] == f"pulling {wanted}"
    assert any(f"Digest: {digest}" in line for line in told), told
    assert await find(builds, wanted, told.append) == image
    assert len(shop.seen) == len(asked)
    daemon.run("rmi", wanted)


async def test_content_that_is_not_its_digest_is_refused(builds: Builds, shop: Registry) -> None:
    shop.spoil = stocked(shop)
    wrong = f"127.0.0.1:{shop.port}/team/small@{shop.spoil}"
    with pytest.raises(Failed, match="cannot be pulled"):
        await find(builds, wrong, lambda _line: None)


async def test_image_that_no_registry_has_is_a_fault_of_the_request(
    builds: Builds, shop: Registry
) -> None:
    for name in (f"127.0.0.1:{shop.port}/team/none:1", f"127.0.0.1:{shop.port}/other"):
        with pytest.raises(Invalid, match="cannot be pulled") as found:
            await find(builds, name, lambda _line: None)
        assert found.value.field == "image"
    with pytest.raises(Failed, match="cannot be pulled"):  # nobody is asked there
        await find(builds, "127.0.0.1:1/team/none", lambda _line: None)


HIDDEN = {
    "separator": "RUN true \\\n\x1c\n{hidden}\n",
    "returns": "RUN true \\\r\r\n{hidden}\n",
}
"""How an instruction lay behind a continuation for one of two readers."""


async def built_as_it_lies(engine: Engine, text: str) -> str:
    """What the daemon says of a Dockerfile that nobody judged."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        info = tarfile.TarInfo("Dockerfile")
        info.size = len(text.encode())
        tar.addfile(info, io.BytesIO(text.encode()))
    packed.seek(0)
    limits = {"networkmode": "none", "nocache": "1"}
    try:
        lines = [
            line async for line in engine.build(BuildRequest("atoll-test/raw", packed), limits)
        ]
    except Failed as err:
        return err.message
    return "".join(line.stream for line in lines)


@pytest.mark.parametrize("way", HIDDEN)
async def test_instruction_that_is_hidden_from_the_judge_never_reaches_the_daemon(
    builds: Builds, shop: Registry, way: str
) -> None:
    fetch = f"ADD http://127.0.0.1:{shop.port}/metadata-{way} /x"
    text = f"FROM {IMAGE}\n" + HIDDEN[way].format(hidden=fetch)
    await built_as_it_lies(builds.engine, text)
    asked = [path for path, _authorization in shop.seen if way in path]
    assert asked, "the daemon fetches from the machine's loopback when nobody judges"
    place = builds.folder / "hiding"
    place.mkdir()
    (place / "Dockerfile").write_bytes(text.encode())
    assert isinstance(await refused(builds, "hiding"), Invalid)
    assert [path for path, _authorization in shop.seen if way in path] == asked


async def test_stage_s_own_name_never_stands_for_an_image_that_is_not_allowed(
    builds: Builds, daemon: DockerDaemon
) -> None:
    daemon.run("import", "--change", "LABEL x=y", str(daemon.folder / "small.tar"), "foreign")
    lines = ("COPY --from=foreign /root/secret /taken", "RUN cat /taken")
    text = "\n".join([f"FROM {IMAGE} AS foreign", *lines, ""])
    assert "the image's own" in await built_as_it_lies(builds.engine, text)
    builds.rules = BuildRules(bases=(IMAGE,))
    recipe(builds, "named", *lines, base=f"{IMAGE} AS foreign")
    failure = await refused(builds, "named")
    assert isinstance(failure, Failed) and "current build stage" in failure.message
    for number, line in enumerate(("COPY --from=foreign /a /b", "FROM foreign")):
        recipe(builds, f"other{number}", line)
        assert isinstance(await refused(builds, f"other{number}"), Forbidden)
    daemon.run("rmi", "-f", "foreign", "atoll-test/raw")


def identity(daemon: DockerDaemon, name: str) -> str:
    return daemon.run("inspect", "-f", "{{.Id}}", name)


async def test_archive_moves_no_tag_of_the_daemon(
    builds: Builds, daemon: DockerDaemon, tmp_path: Path
) -> None:
    small = str(daemon.folder / "small.tar")
    daemon.run("import", "--change", "LABEL of=attacker", small, "attacker:1")
    attacker, victim = identity(daemon, "attacker:1"), identity(daemon, IMAGE)
    daemon.run("tag", IMAGE, "kept:1")
    daemon.run("tag", "attacker:1", IMAGE)
    subprocess.run(
        ["docker", "-H", daemon.host, "save", "-o", str(tmp_path / "evil.tar"), IMAGE], check=True
    )
    daemon.run("tag", "kept:1", IMAGE)
    # What the daemon does with it when nobody takes the names out.
    daemon.run("load", "-i", str(tmp_path / "evil.tar"))
    assert identity(daemon, IMAGE) == attacker
    daemon.run("tag", "kept:1", IMAGE)
    image = await find(builds, "archive:evil.tar", lambda _line: None)
    assert image.id == attacker
    assert identity(daemon, IMAGE) == victim
    with tarfile.open(tmp_path / "odd.tar", "w") as tar:
        link = tarfile.TarInfo("manifest.json")
        link.type, link.linkname = tarfile.SYMTYPE, "elsewhere.json"
        tar.addfile(link)
    with pytest.raises(Invalid, match="no saved image"):
        await find(builds, "archive:odd.tar", lambda _line: None)
    daemon.run("rmi", "-f", "attacker:1", "kept:1")


class TestDaemonBuilder(ImageBuilderContract):
    @pytest.fixture
    def recipe(self, tmp_path: Path) -> str:
        place = tmp_path / "images" / "contract"
        place.mkdir(parents=True)
        (place / "Dockerfile").write_text(f"FROM {IMAGE}\nENV A=1\n")
        return place.name

    @pytest.fixture
    def builder(self, daemon: DockerDaemon, tmp_path: Path) -> DaemonBuilder:
        return DaemonBuilder(ControlSettings(tmp_path, docker=DockerSettings(daemon.host)))
