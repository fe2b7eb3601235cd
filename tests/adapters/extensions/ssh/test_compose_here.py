"""What `ext.compose-ssh` needs of this machine, and says when it is missing."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from atoll.adapters.extensions.ssh.client import SshHost
from atoll.adapters.extensions.ssh.compose import command
from atoll.domain.errors import Failed


async def hosts() -> Mapping[str, SshHost]:
    return {}


DOCKER = """#!/bin/sh
[ "$1" = compose ] || exit 64
[ "$2" = version ] && exit {code}
printf '%s\\n' "$@" "DOCKER_HOST=$DOCKER_HOST" "HOME=$HOME" >{said}
"""


@pytest.mark.parametrize("code", [0, 1])
async def test_second_version_is_taken_where_docker_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """What is asked of it, by a stub: this machine has the first version."""
    said = tmp_path / "said"
    for name in ("docker", "docker-compose"):
        program = tmp_path / name
        program.write_text(DOCKER.format(code=code, said=said))
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = await command.find_compose()
    docker = str(tmp_path / "docker")
    assert found.words == ((docker, "compose") if code == 0 else (f"{docker}-compose",))
    if code == 0:
        await found.up(Path("/run/engine.sock"), "project", "{}")
        words = said.read_text().splitlines()
        assert words[0] == "compose"
        assert words[-6:-2] == ["up", "-d", "--no-build", "--remove-orphans"]
        assert words[-2] == "DOCKER_HOST=unix:///run/engine.sock"
        assert words[words.index("-p") + 1] == "project"
        assert words[-1] != f"HOME={Path.home()}"


def test_second_version_alone_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker, plugin = tmp_path / "docker", tmp_path / "plugin"
    docker.write_text("#!/bin/sh\n")
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(command, "PLUGINS", (plugin,))
    with pytest.raises(Failed, match="docker-compose-v2"):
        command.check_installed()
    plugin.touch()
    command.check_installed()
