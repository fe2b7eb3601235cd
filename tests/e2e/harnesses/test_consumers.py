"""The end of a session on the real wall: its sandboxes end, and what is in them is kept."""

from pathlib import Path

import pytest

from atoll.testing.server import TestServer
from tests.peers.api import api_of, until

pytestmark = pytest.mark.timeout(180)

END = {"harness": "nightly", "session_id": "s-1"}
CONSUMER = {"actor": "atm", **END}


def test_sandboxes_of_a_session_end_with_it_and_are_kept(server: TestServer) -> None:
    with api_of(server) as api:
        mine = api.create(consumer=CONSUMER, scope="session")["sandbox_id"]
        lasting = api.create(consumer=CONSUMER, scope="agent", profile="shell")["sandbox_id"]
        other = api.create(consumer={**CONSUMER, "session_id": "s-2"})["sandbox_id"]
        requested = api.call("GET", f"/v1/events?stream=sandbox:{mine}&limit=1")["events"][0]
        assert requested["actor"] == {"kind": "atm", "id": "nightly"}
        assert requested["payload"]["consumer"] == CONSUMER
        assert requested["payload"]["by"] == "person"
        api.run(mine, "echo work > kept.txt")
        runtime = api.box(mine).runtime_pid

        ended = api.call("POST", "/v1/consumers/end", json=END)["sandboxes"]
        assert [(one["sandbox_id"], one["state"]) for one in ended] == [(mine, "expired")]
        shown = api.sandbox(mine)
        assert (shown["state"], shown["reason"]) == ("expired", "Its consumer's session ended.")
        assert shown["retained_until"] is not None
        (over,) = [
            one
            for one in api.call("GET", f"/v1/events?stream=sandbox:{mine}&limit=1000")["events"]
            if one["event_type"] == "sandbox.expired"
        ]
        assert over["actor"] == requested["actor"]
        assert (over["payload"]["consumer"], over["payload"]["by"]) == (CONSUMER, "person")
        until(lambda: _runs(runtime), lambda running: not running, 60)
        assert {api.sandbox(one)["state"] for one in (lasting, other)} <= {"ready", "active"}
        assert api.call("POST", "/v1/consumers/end", json=END)["sandboxes"] == []
        wrong = api.client.post("/v1/consumers/end", json={"harness": "nightly"})
        assert wrong.status_code == 422

        api.act(mine, "start")
        assert api.run(mine, "cat kept.txt") == "work\n"


def _runs(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
