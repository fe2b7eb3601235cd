"""What an installation requires of a wall is asked before a sandbox is made."""

from atoll.testing.server import test_server
from tests.e2e.walls.test_limits import PAPER
from tests.peers.api import api_of


def test_create_behind_a_wall_below_the_required_one_is_refused() -> None:
    env = {"ATOLL_EXTENSIONS": "in-memory", "ATOLL_REQUIRE_ISOLATION": "container"}
    with test_server(env) as server, api_of(server) as api:
        api.call("PUT", "/v1/profiles/paper", content=PAPER)
        refused = api.client.post("/v1/sandboxes", json={"profile": "paper"})
        assert (refused.status_code, refused.json()["field"]) == (409, "route")
        assert "and container is required" in refused.json()["detail"]
