"""The egress door under attack from inside a real sandbox (threats 61 to 78).

`egress_world` runs a whole Atoll in a network of its own; here each attempt's outcome is judged.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.peers.docker_daemon import why_not
from tests.places import ROOT

SECONDS = 240
TAKEN, UNREACHABLE = "98", "OSError 101"

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("unshare"),
    reason="needs root, ip and unshare for a network of its own",
)


WALLS = [
    pytest.param("namespaces"),
    pytest.param(
        "docker",
        marks=[
            pytest.mark.docker,
            pytest.mark.slow,
            pytest.mark.skipif(bool(why_not()), reason=f"no Docker daemon: {why_not()}"),
        ],
    ),
]


@pytest.fixture(scope="module", params=WALLS)
def told(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    world = ["-m", "tests.security.doors.egress_world", str(request.param)]
    done = subprocess.run(
        ["unshare", "--net", "--mount", sys.executable, *world],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def refused(answer: str) -> bool:
    return answer.startswith(("HTTP/1.1 403 ", "HTTP/1.1 400 "))


def starting(told: Mapping[str, Any], mode: str, *prefixes: str) -> dict[str, str]:
    answers = told[mode]["answers"].items()
    return {name: answer for name, answer in answers if name.startswith(prefixes)}


def test_61_nothing_leaves_beside_the_door(told: Mapping[str, Any]) -> None:
    for mode in ("limited", "full", "none"):
        assert set(starting(told, mode, "direct").values()) == {UNREACHABLE}


def test_62_refused_names_are_never_looked_up(told: Mapping[str, Any]) -> None:
    assert set(told["limited"]["asked"]) <= {
        "allowed.test.example", "inner.test.example", "metadata.test.example",
        "own.test.example",
    }  # fmt: skip
    assert told["none"]["asked"] == []
    assert told["limited"]["answers"]["lookup"] == "gaierror"
    for name in ("refused name", "refused connect", "v6"):
        assert '"not_listed"' in told["limited"]["answers"][name]


def test_64_no_spelling_reaches_this_machine_or_metadata(told: Mapping[str, Any]) -> None:
    for mode in ("limited", "full", "none"):
        spelt = starting(told, mode, "spelt", "inner", "metadata")
        assert len(spelt) == 42
        unknown = "HTTP/1.1 502"  # a public name nobody has
        wrong = {
            name: answer
            for name, answer in spelt.items()
            if not refused(answer) and not ("google" in name and answer.startswith(unknown))
        }
        assert wrong == {}
        assert told[mode]["reached"]["loopback"] == []
    assert '"address_not_public"' in told["limited"]["answers"]["inner address"]
    assert '"address_never"' in told["limited"]["answers"]["metadata address"]


def test_67_only_listed_ports_are_dialled(told: Mapping[str, Any]) -> None:
    ports = starting(told, "limited", "port ")
    assert len(ports) == 6
    assert all(refused(answer) for answer in ports.values())


def test_68_only_a_hello_of_the_same_name_passes(told: Mapping[str, Any]) -> None:
    answers = told["limited"]["answers"]
    alert = "HTTP/1.1 200 Connection established\r\n\r\n|\x15\x03\x03\x00\x02\x02\x70"
    for name in ("sni evil", "sni none", "sni ech", "sni ssh"):
        assert answers[name] == alert, name
    assert "302 Found" in answers["right tls"]
    # Four were connected for nothing: not one byte of theirs went out.
    assert len([said for said in told["limited"]["reached"]["public"] if said]) == 1


def test_72_ambiguous_requests_are_answered_and_closed(told: Mapping[str, Any]) -> None:
    for mode in ("limited", "full"):
        tricks = starting(told, mode, "smuggled")
        assert len(tricks) == 8
        assert all(answer.startswith("HTTP/1.1 400 ") for answer in tricks.values())
    assert len(told["limited"]["reached"]["plain"]) == 1
    sent = told["limited"]["reached"]["plain"][0]
    assert sent == "GET /ok/x HTTP/1.1\r\nHost: allowed.test.example\r\nConnection: close\r\n\r\n"
    assert '"request_not_listed"' in told["limited"]["answers"]["path outside"]


def test_503_own_public_address_is_reached_in_no_mode(told: Mapping[str, Any]) -> None:
    """Also one that the machine was given after the sandbox began."""
    assert "302 Found" in told["control"]
    for mode in ("limited", "full", "none"):
        assert told[mode]["reached"]["own"] == []
        assert all(refused(each) for each in starting(told, mode, "own").values())
    for name in ("own literal", "own name"):
        assert '"address_own"' in told["full"]["answers"][name]


def test_503_full_opens_listed_ports_only(told: Mapping[str, Any]) -> None:
    full = told["full"]["answers"]
    assert '"port_not_listed"' in full["unlisted port"]
    assert "302 Found" in full["right tls"] and "302 Found" in full["right plain"]


def test_74_redirect_is_handed_back_and_not_followed(told: Mapping[str, Any]) -> None:
    assert "Location: http://169.254.169.254/" in told["limited"]["answers"]["right plain"]


def test_76_provider_hosts_are_refused_in_every_mode(told: Mapping[str, Any]) -> None:
    for mode in ("limited", "full"):
        assert '"provider_host"' in told[mode]["answers"]["provider"]


def test_78_ports_stay_owned_in_every_mode(told: Mapping[str, Any]) -> None:
    for mode in ("limited", "full", "none"):
        squats = starting(told, mode, "squat")
        assert len(squats) == 6
        assert set(squats.values()) == {TAKEN}


def test_none_answers_and_lets_nothing_out(told: Mapping[str, Any]) -> None:
    assert told["none"]["reached"] == {"public": [], "plain": [], "loopback": [], "own": []}
    assert '"network_none"' in told["none"]["answers"]["right tls"]


def test_host_only_reaches_the_named_port_of_this_machine(told: Mapping[str, Any]) -> None:
    assert "302 Found" in told["host-only"]["named"]
    assert told["host-only"]["reached"] > 0


def test_java_reaches_what_the_door_allows(told: Mapping[str, Any]) -> None:
    """Programs of a JVM read no proxy variable."""
    runs = told["host-only"]["java"]
    if not runs:
        pytest.skip("no JDK lies in this sandbox's /usr/lib/jvm")
    assert {said for said, _ in runs} == {"302 302\n"}
    assert {complaint for _, complaint in runs[::2]} == {""}
    assert all(one.startswith("Picked up JAVA_TOOL_OPTIONS: -Dhttp.") for _, one in runs[1::2])


def test_switches_and_refusals_are_in_the_log(told: Mapping[str, Any]) -> None:
    events = told["events"]
    switches = [one["payload"]["mode"] for one in events if one["event_type"] == "network.switched"]
    assert switches == ["full", "none", "host-only"]
    refusals = [one["payload"] for one in events if one["event_type"] == "door.refused"]
    named = [one for one in refusals if one.get("host") == "c2vjcmv0.evil.test.example"]
    assert named[0]["code"] == "not_listed"
    assert str(named[0]["allow"]).startswith("atoll net allow sb_")
