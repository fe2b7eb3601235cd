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
def report(request: pytest.FixtureRequest) -> Mapping[str, Any]:
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
    report: Mapping[str, Any] = json.loads(done.stdout)
    return report


def refused(answer: str) -> bool:
    return answer.startswith(("HTTP/1.1 403 ", "HTTP/1.1 400 "))


def starting(report: Mapping[str, Any], mode: str, *prefixes: str) -> dict[str, str]:
    answers = report[mode]["answers"].items()
    return {name: answer for name, answer in answers if name.startswith(prefixes)}


def test_nothing_leaves_beside_the_door(report: Mapping[str, Any]) -> None:
    for mode in ("limited", "full", "none"):
        assert set(starting(report, mode, "direct").values()) == {UNREACHABLE}


def test_refused_names_are_never_looked_up(report: Mapping[str, Any]) -> None:
    assert set(report["limited"]["asked"]) <= {
        "allowed.test.example", "inner.test.example", "metadata.test.example",
        "own.test.example",
    }  # fmt: skip
    assert report["none"]["asked"] == []
    assert report["limited"]["answers"]["lookup"] == "gaierror"
    for name in ("refused name", "refused connect", "v6"):
        assert '"not_listed"' in report["limited"]["answers"][name]


def test_no_spelling_reaches_this_machine_or_metadata(report: Mapping[str, Any]) -> None:
    for mode in ("limited", "full", "none"):
        spelt = starting(report, mode, "spelt", "inner", "metadata")
        assert len(spelt) == 42
        unknown = "HTTP/1.1 502"  # a public name nobody has
        wrong = {
            name: answer
            for name, answer in spelt.items()
            if not refused(answer) and not ("google" in name and answer.startswith(unknown))
        }
        assert wrong == {}
        assert report[mode]["reached"]["loopback"] == []
    assert '"address_not_public"' in report["limited"]["answers"]["inner address"]
    assert '"address_never"' in report["limited"]["answers"]["metadata address"]


def test_only_listed_ports_are_dialled(report: Mapping[str, Any]) -> None:
    ports = starting(report, "limited", "port ")
    assert len(ports) == 6
    assert all(refused(answer) for answer in ports.values())


def test_only_a_hello_of_the_same_name_passes(report: Mapping[str, Any]) -> None:
    answers = report["limited"]["answers"]
    alert = "HTTP/1.1 200 Connection established\r\n\r\n|\x15\x03\x03\x00\x02\x02\x70"
    for name in ("sni evil", "sni none", "sni ech", "sni ssh"):
        assert answers[name] == alert, name
    assert "302 Found" in answers["right tls"]
    # Four were connected for nothing: not one byte of theirs went out.
    assert len([said for said in report["limited"]["reached"]["public"] if said]) == 1


def test_ambiguous_requests_are_answered_and_closed(report: Mapping[str, Any]) -> None:
    for mode in ("limited", "full"):
        tricks = starting(report, mode, "smuggled")
        assert len(tricks) == 8
        assert all(answer.startswith("HTTP/1.1 400 ") for answer in tricks.values())
    assert len(report["limited"]["reached"]["plain"]) == 1
    sent = report["limited"]["reached"]["plain"][0]
    assert sent == "GET /ok/x HTTP/1.1\r\nHost: allowed.test.example\r\nConnection: close\r\n\r\n"
    assert '"request_not_listed"' in report["limited"]["answers"]["path outside"]


def test_own_public_address_is_reached_in_no_mode(report: Mapping[str, Any]) -> None:
    """Also one that the machine was given after the sandbox began."""
    assert "302 Found" in report["control"]
    for mode in ("limited", "full", "none"):
        assert report[mode]["reached"]["own"] == []
        assert all(refused(each) for each in starting(report, mode, "own").values())
    for name in ("own literal", "own name"):
        assert '"address_own"' in report["full"]["answers"][name]


def test_full_opens_listed_ports_only(report: Mapping[str, Any]) -> None:
    full = report["full"]["answers"]
    assert '"port_not_listed"' in full["unlisted port"]
    assert "302 Found" in full["right tls"] and "302 Found" in full["right plain"]


def test_redirect_is_handed_back_and_not_followed(report: Mapping[str, Any]) -> None:
    assert "Location: http://169.254.169.254/" in report["limited"]["answers"]["right plain"]


def test_provider_hosts_are_refused_in_every_mode(report: Mapping[str, Any]) -> None:
    for mode in ("limited", "full"):
        assert '"provider_host"' in report[mode]["answers"]["provider"]


def test_ports_stay_owned_in_every_mode(report: Mapping[str, Any]) -> None:
    for mode in ("limited", "full", "none"):
        squats = starting(report, mode, "squat")
        assert len(squats) == 6
        assert set(squats.values()) == {TAKEN}


def test_none_answers_and_lets_nothing_out(report: Mapping[str, Any]) -> None:
    assert report["none"]["reached"] == {"public": [], "plain": [], "loopback": [], "own": []}
    assert '"network_none"' in report["none"]["answers"]["right tls"]


def test_host_only_reaches_the_named_port_of_this_machine(report: Mapping[str, Any]) -> None:
    assert "302 Found" in report["host-only"]["named"]
    assert report["host-only"]["reached"] > 0


def test_java_reaches_what_the_door_allows(report: Mapping[str, Any]) -> None:
    """Programs of a JVM read no proxy variable."""
    runs = report["host-only"]["java"]
    if not runs:
        pytest.skip("no JDK lies in this sandbox's /usr/lib/jvm")
    assert {said for said, _ in runs} == {"302 302\n"}
    assert {complaint for _, complaint in runs[::2]} == {""}
    assert all(one.startswith("Picked up JAVA_TOOL_OPTIONS: -Dhttp.") for _, one in runs[1::2])


def test_switches_and_refusals_are_in_the_log(report: Mapping[str, Any]) -> None:
    events = report["events"]
    switches = [one["payload"]["mode"] for one in events if one["event_type"] == "network.switched"]
    assert switches == ["full", "none", "host-only"]
    refusals = [one["payload"] for one in events if one["event_type"] == "door.refused"]
    named = [one for one in refusals if one.get("host") == "c2vjcmv0.evil.test.example"]
    assert named[0]["code"] == "not_listed"
    assert str(named[0]["allow"]).startswith("atoll net allow sb_")
