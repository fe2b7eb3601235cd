"""What who comes in finds: steps in the log, and the person's own configuration, on both walls."""

from collections.abc import Iterator

import pytest

from atoll.testing.server import TestServer, test_server
from tests.peers.api import Api
from tests.peers.docker_daemon import IMAGE, docker_daemon, why_not

PROFILE = f"id: profile.small\nversion: '1.0.0'\nextension: ext.docker\nimage: {IMAGE}\n"
WALLS = [
    "shell",
    pytest.param(
        "small",
        marks=[
            pytest.mark.slow,
            pytest.mark.docker,
            pytest.mark.root,
            pytest.mark.skipif(bool(why_not()), reason=f"no Docker daemon: {why_not()}"),
        ],
    ),
]


@pytest.fixture(params=WALLS)
def server(request: pytest.FixtureRequest) -> Iterator[tuple[TestServer, str]]:
    if request.param == "shell":
        with test_server() as made:
            yield made, "shell"
        return
    with docker_daemon() as daemon:
        env = {"ATOLL_EXTENSIONS": "docker", "ATOLL_DOCKER_HOST": daemon.host}
        with test_server(env, start=False) as made:
            (made.home / "profiles").mkdir()
            (made.home / "profiles" / "small.yaml").write_text(PROFILE)
            made.start()
            yield made, "small"


def test_configuration_of_a_sandbox_is_laid_at_each_start_and_told(
    server: tuple[TestServer, str],
) -> None:
    atoll, profile = server
    place = atoll.home / "agent-config" / "mine" / ".claude"
    place.mkdir(parents=True)
    (place / "settings.json").write_text('{"theme": "light"}')
    (place.parent / ".gitconfig").write_text("[user]\n\tname = Ada\n")
    api = Api(atoll)
    sandbox = api.create(profile=profile, name="mine")["sandbox_id"]
    assert api.run(sandbox, "cat ~/.claude/settings.json") == '{"theme": "light"}'
    assert api.run(sandbox, "git config user.name") == "Ada\n"
    logged = atoll.run("logs", "mine").stdout
    for words in (
        "Home /home/agent: 1024 MiB of memory",
        "npm ~/.npm-global, pip ~/.local, cargo ~/.cargo",
        "Git commits as agent <agent@localhost>",
        "Configuration from this machine: ~/.gitconfig, ~/.claude/settings.json",
    ):
        assert words in logged
    (place / "settings.json").write_text("{}")
    api.act(sandbox, "stop")
    api.act(sandbox, "start")
    assert api.run(sandbox, "cat ~/.claude/settings.json") == "{}"
    other = api.create(profile=profile, name="other")["sandbox_id"]
    assert api.run(other, "ls ~/.claude") == ""
    api.client.close()
