"""`git push` inside a real sandbox is held, told in the log, and brought home by its owner."""

from pathlib import Path
from typing import Any

from atoll.testing.server import TestServer
from tests.e2e.servers import rootless_is_slow
from tests.e2e.waiting.test_saved_work import git, mine, ok
from tests.peers.api import Api, until

__all__ = ["mine"]

pytestmark = rootless_is_slow


def pushes(api: Api, sandbox: str) -> list[dict[str, Any]]:
    """The pushes that the log of a sandbox tells of, among whatever else happens."""
    return [event for event in api.events(sandbox) if event["event_type"] == "git.pushed"]


def test_push_inside_is_held_and_comes_home(server: TestServer, api: Api, mine: Path) -> None:
    ok(server, "new", str(mine), "fix", "--detach", "--name", "pushing")
    sandbox = str(api.sandbox("pushing")["sandbox_id"])
    api.run(sandbox, "echo 1 > 1; git add 1; git commit -qm one")
    said = api.run(sandbox, "git push origin fix:review 2>&1")
    assert "atoll pull pushing --pushed review" in said, said
    # The runtime reports it: nobody has to look.
    (pushed,) = until(lambda: pushes(api, sandbox), lambda found: found != [])
    assert pushed["payload"]["branch"] == "review"
    api.act(sandbox, "destroy")
    assert "review" in ok(server, "kept").stdout
    kept = api.call("GET", "/v1/kept")["kept"][0]
    assert (kept["pushed"], kept["sandbox_id"]) == ("review", sandbox)
    said = ok(server, "pull", sandbox, "--pushed", "review", "-C", str(mine)).stdout
    assert said.startswith("review is at ") and git(mine, "show", "review:1") == "1\n"


def test_held_push_is_pulled_and_dropped(server: TestServer, api: Api, mine: Path) -> None:
    ok(server, "new", str(mine), "fix", "--detach", "--name", "holding")
    sandbox = str(api.sandbox("holding")["sandbox_id"])
    api.run(sandbox, "echo 2 > 2; git add 2; git commit -qm two; git push -q atoll fix:a fix:b")
    assert {"a", "b"} <= set(ok(server, "pull", "holding", "--pushed").stdout.split())
    said = ok(server, "pull", "holding", "--pushed", "a", "-C", str(mine)).stdout
    assert said.startswith("a is at ") and git(mine, "show", "a:2") == "2\n"
    ok(server, "pull", "holding", "--pushed", "b", "--drop")
    assert "holds no pushed branch" in ok(server, "pull", "holding", "--pushed").stderr
    assert api.call("GET", f"/v1/sandboxes/{sandbox}/unpulled")["places"] == []
    api.act(sandbox, "destroy")


def test_look_for_unpulled_work_is_no_activity(server: TestServer, api: Api, mine: Path) -> None:
    ok(server, "new", str(mine), "fix", "--detach", "--name", "looking")
    sandbox = str(api.sandbox("looking")["sandbox_id"])

    def programs() -> list[str]:
        """The programs that were started, in the order of the log."""
        events = api.events(sandbox)
        return [e["payload"]["argv0"] for e in events if e["event_type"] == "exec.started"]

    def run(*argv: str) -> None:
        api.call("POST", f"/v1/sandboxes/{sandbox}/exec", json={"argv": argv})

    # The tree is made, looked at, and settled a moment later.
    until(programs, lambda all_of_them: all_of_them == ["/bin/sh"] * 3)
    run("true")
    for path in ("unpulled", "pushes"):
        api.call("GET", f"/v1/sandboxes/{sandbox}/{path}")
    run("printf", "x")
    ran = until(programs, lambda all_of_them: all_of_them[-1:] == ["printf"])
    assert ran[-2:] == ["true", "printf"]
    api.act(sandbox, "destroy")
