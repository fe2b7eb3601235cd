"""A flood of requests that the doors refuse, from inside: what it leaves in the event log."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from atoll.runtime.doors.refusals import BURST, Refusals
from atoll.runtime.journal.journal import Journal
from tests.peers.api import until
from tests.security.conftest import Walled

EACH = 150
MOST_BYTES = 24 * 1024
"""What the whole flood may take in the log."""

# Asks each door once, waits for a file that says that this is in the log, then floods both.
FLOOD = r"""
import pathlib, socket, sys, time
def ask(port, url, host="x"):
    with socket.create_connection(("127.0.0.1", port), 60) as door:
        door.settimeout(60)
        head = f"GET {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        door.sendall(head.encode())
        while door.recv(65536):
            pass
def egress(host):
    ask(3128, f"http://{host}/", host)
def broker(name):
    ask(8082, f"/broker/{name}/v1/models")
each = int(sys.argv[1])
egress("same.test.example")
deadline = time.monotonic() + 120
while not pathlib.Path("seen").exists() and time.monotonic() < deadline:
    time.sleep(0.05)
for number in range(each):
    egress("same.test.example")
    egress(f"host{number}.test.example")
    broker("nobody")
    broker(f"nobody{number}")
pathlib.Path("flooded").touch()
"""


def refusals(walled: Walled, box: str) -> list[dict[str, Any]]:
    kinds = ("door.refused", "door.request")
    found = walled.api.events(box)
    return [one["payload"] for one in found if one["event_type"] in kinds]


def of_door(said: list[dict[str, Any]], door: str) -> int:
    """How many refusals of a door the log tells of."""
    return sum(one.get("times", 1) for one in said if one["door"] == door)


def test_flood_of_refusals_of_equal_and_ever_new_names_leaves_little_and_counts_all(
    walled: Walled,
) -> None:
    api = walled.api
    box = api.create(profile="attacked")["sandbox_id"]
    try:
        body = {"argv": ["python3", "-c", FLOOD, str(EACH)], "background": True}
        api.call("POST", f"/v1/sandboxes/{box}/exec", json=body)
        # The first one is told while the program inside waits for it, so not with the rest.
        (first,) = until(lambda: refusals(walled, box), bool)
        assert first["host"] == "same.test.example" and "times" not in first
        api.run(box, "touch seen; while [ ! -e flooded ]; do sleep 0.1; done")
        api.act(box, "stop")
        said = refusals(walled, box)
    finally:
        api.act(box, "destroy")
    assert of_door(said, "egress") == 2 * EACH + 1
    assert of_door(said, "broker") == 2 * EACH
    size = sum(len(json.dumps(one)) for one in said)
    # The control: one event a refusal, as the first of them is.
    assert 4 * EACH * len(json.dumps(first)) > 4 * MOST_BYTES > 4 * size
    various = [one for one in said if "various" in (one.get("code"), one.get("outcome"))]
    assert various and all("host" not in one for one in various)


@pytest.mark.parametrize("name", ["same", "host{}"])
def test_refused_request_each_second_for_hours_is_counted_in_a_bounded_log(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    journal = Journal(tmp_path)
    audit = Refusals(journal, lambda: now)
    hours = 6 * 60 * 60
    sizes: list[int] = []

    def append(_kind: str, payload: Mapping[str, object]) -> int:
        sizes.append(len(json.dumps(payload)))
        return len(sizes)

    monkeypatch.setattr(journal, "append", append)
    for second in range(hours):
        host = name.format(second) + ".test.example"
        said = {"door": "egress", "host": host, "port": 443, "code": "not_listed"}
        audit("door.refused", {**said, "detail": "d" * 120, "allow": "a" * 60})
        now += 1
    audit.settle(last=True)
    assert sum(sizes) / (hours / 60) < 1024  # bytes a minute; 60 entries are some 20 KiB
    assert len(sizes) < BURST + 3 * hours / 60
