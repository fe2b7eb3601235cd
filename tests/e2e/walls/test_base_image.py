"""The documented base of images: its recipe may be built, its tree made without a registry."""

import os
import shutil
import subprocess

import pytest

from atoll.adapters.extensions.docker.dockerfile import read_recipe
from atoll.adapters.extensions.docker.pulls import is_reference
from atoll.testing.server import test_server
from tests.peers.api import Api
from tests.peers.docker_daemon import docker_daemon, why_not
from tests.places import ROOT

BASE = ROOT / "deploy" / "images" / "base"
PROFILE = "id: profile.base\nversion: '1.0.0'\nextension: ext.docker\nimage: archive:base.tar\n"


def why_not_built() -> str:
    """Why the tree cannot be made here; empty when it can."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        return "needs root and debootstrap"
    return why_not()


def test_recipe_of_the_base_is_one_that_builds_are_allowed() -> None:
    assert read_recipe((BASE / "Dockerfile").read_text(), is_reference).bases == (
        "debian:bookworm-slim",
    )
    packages = (BASE / "packages").read_text().split()
    assert packages == sorted(set(packages))
    assert {"git", "curl", "ripgrep", "jq", "python3", "nodejs"} <= set(packages)


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.root
@pytest.mark.timeout(900)
@pytest.mark.skipif(bool(why_not_built()), reason=f"no base image: {why_not_built()}")
def test_base_made_without_a_registry_is_a_root_that_agents_can_work_in() -> None:
    with docker_daemon() as daemon:
        env = {"ATOLL_EXTENSIONS": "docker", "ATOLL_DOCKER_HOST": daemon.host}
        with test_server(env, start=False) as server:
            for name in ("images", "profiles"):
                (server.home / name).mkdir()
            archive = server.home / "images" / "base.tar"
            subprocess.run([str(BASE / "build"), "--tar", str(archive)], check=True)
            archive.chmod(0o644)
            (server.home / "profiles" / "base.yaml").write_text(PROFILE)
            server.start()
            api = Api(server)
            sandbox = api.create(profile="base")["sandbox_id"]
            line = (
                "for tool in git curl rg jq python3 node make less ssh unzip; do "
                "command -v $tool >/dev/null || echo $tool is missing; done; "
                "locale charmap; git init -q x && python3 -m venv /tmp/v && node -e 0; id -un; "
                "test $(ls /etc/ssl/certs | wc -l) -gt 100 && echo trusting"
            )
            assert api.run(sandbox, line).split() == ["UTF-8", "agent", "trusting"]
            api.client.close()
