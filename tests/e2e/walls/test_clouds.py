"""Sandboxes on rented machines: a peer on a vendor's own wheel, and everything over a link."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.terminals.test_turns import attach_with
from tests.e2e.walls.test_ssh import KEY, TICKS, model, ticks_in
from tests.peers.api import Api, api_of, until
from tests.peers.canary import files_with, memory_holds
from tests.peers.clouds.cloud import E2B, EACH, Cloud
from tests.peers.clouds.faults import Fault
from tests.peers.clouds.machine import Machine, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=str(missing()))

QUIET_SECONDS = 1.2


@pytest.fixture(scope="module", params=EACH)
def cloud(request: pytest.FixtureRequest) -> Cloud:
    found: Cloud = request.param
    return found


@pytest.fixture(scope="module")
def peer(cloud: Cloud) -> Iterator[Any]:
    with cloud.serve() as running:
        yield running


@pytest.fixture(scope="module")
def server(cloud: Cloud, peer: Any) -> Iterator[TestServer]:
    keys = f'[openai]\nkey = "{KEY}"\n'
    with model() as url, test_server(start=False, keys=keys) as running:
        config = cloud.settings(peer) + f'[upstreams]\nopenai = "{url}"\n'
        (running.home / "config.toml").write_text(config)
        running.start()
        with api_of(running) as api:
            api.call("PUT", "/v1/profiles/profile.cloud", json=cloud.profile)
        yield running


@pytest.fixture
def api(server: TestServer) -> Iterator[Api]:
    with api_of(server) as made:
        yield made


@pytest.fixture
def keyed(api: Api, cloud: Cloud) -> Api:
    api.call("PUT", "/v1/secrets/CLOUD", json=cloud.secret)
    return api


@pytest.fixture
def far(server: TestServer, keyed: Api) -> Iterator[str]:
    sandbox = keyed.create(profile="cloud")["sandbox_id"]
    yield sandbox
    with api_of(server) as api:  # it may listen elsewhere by now
        api.act(sandbox, "destroy")


def machine_of(peer: Any, sandbox: str) -> Machine:
    (sold,) = [one for one in peer.live if one.tags["atoll-sandbox"] == sandbox]
    assert isinstance(sold.machine, Machine)
    return sold.machine


def test_without_a_key_nothing_is_rented_and_the_reason_is_shown(
    api: Api, peer: Any, cloud: Cloud
) -> None:
    listed = api.call("GET", "/v1/extensions")["extensions"]
    (shown,) = [one for one in listed if one["name"] == cloud.extension]
    assert (shown["available"], shown["capabilities"]["needs_key"]) == (False, True)
    assert "atoll secret set" in shown["reason"]
    answer = api.client.post("/v1/sandboxes", json={"profile": "profile.cloud"})
    assert answer.status_code == 409, answer.text
    assert f"{cloud.extension} has no key" in answer.text
    assert peer.rented == 0


def test_key_of_the_kind_extension_is_shown_without_its_value(keyed: Api, cloud: Cloud) -> None:
    shown = keyed.call("GET", "/v1/secrets/CLOUD")
    assert (shown["kind"], shown["extension"], shown["remote"]) == (
        "extension",
        cloud.extension,
        None,
    )
    listed = keyed.call("GET", "/v1/extensions")["extensions"]
    shown = next(one for one in listed if one["name"] == cloud.extension)
    assert shown["available"], shown


def test_network_of_machine_and_sandbox_is_closed_and_the_doors_lead_here(
    keyed: Api, far: str, peer: Any
) -> None:
    assert "keyed" in keyed.run(far, "curl -sS http://127.0.0.1:8082/broker/openai/v1/models")
    assert "403" in keyed.run(far, "curl -sS -m 9 https://example.com 2>&1 || true")
    assert keyed.run(far, "cat /proc/net/dev | grep -c :") == "1\n"
    argv = machine_of(peer, far).argv("sh", "-c", "grep -c : /proc/net/dev")
    assert subprocess.run(argv, capture_output=True, check=True).stdout == b"1\n"


def test_no_key_reaches_the_machine_and_no_vendors_key_a_sandbox(
    keyed: Api, server: TestServer, far: str, peer: Any, cloud: Cloud
) -> None:
    assert "keyed" in keyed.run(far, "curl -sS http://127.0.0.1:8082/broker/openai/v1/models")
    machine = machine_of(peer, far)
    runtime = keyed.box(far).runtime_pid
    assert not memory_holds(runtime, cloud.canary)
    for needle in (KEY.encode(), cloud.canary):
        assert files_with(machine.home, needle) == []
        looked_at = [pid for pid in machine.processes() if not memory_holds(pid, needle)]
        assert len(looked_at) >= 3
        assert len(looked_at) == len(machine.processes())
    assert not peer.faults.holds(KEY)
    for place in (server.home / "rented", server.home / "logs"):
        assert not place.exists() or files_with(place, cloud.canary) == []
    assert cloud.canary.decode() not in str(keyed.call("GET", f"/v1/sandboxes/{far}"))
    assert cloud.canary.decode() not in str(keyed.call("GET", "/v1/events?limit=1000"))


def test_stop_keeps_files_here_and_destroy_leaves_nothing(keyed: Api, peer: Any) -> None:
    sandbox = keyed.create(profile="cloud")["sandbox_id"]
    keyed.run(sandbox, "echo kept > file; mkdir -p a/b; ln -s /etc/passwd a/l; chmod 000 a/b")
    keyed.act(sandbox, "stop")
    assert [one.tags["atoll-sandbox"] for one in peer.live].count(sandbox) == 0
    before = peer.rented
    keyed.act(sandbox, "start")
    assert peer.rented == before + 1
    assert keyed.run(sandbox, "cat file; readlink a/l") == "kept\n/etc/passwd\n"
    keyed.act(sandbox, "destroy")
    assert [one.tags["atoll-sandbox"] for one in peer.live].count(sandbox) == 0


async def test_cut_streams_and_a_lost_control_plane_lose_no_byte(
    server: TestServer, keyed: Api, peer: Any, far: str
) -> None:
    terminal = keyed.terminal(far, "sh", "-c", TICKS)
    headers = {"Authorization": f"Bearer {server.token}"}
    async with attach_with(keyed.attach_url(far, terminal), headers) as viewer:
        await viewer.sees(b"tick-20-")
        peer.cut()
        await viewer.sees(b"tick-200-")
        numbers = ticks_in(viewer.seen)
    assert numbers[0] == 1
    server.kill()
    server.start()
    with api_of(server) as again:
        assert again.run(far, "echo back") == "back\n"
        async with attach_with(again.attach_url(far, terminal), headers) as viewer:
            await viewer.sees(b"tick-%d-" % (numbers[-1] + 100))
            ticks_in(viewer.seen)


def test_quiet_stream_that_is_cut_again_and_again_is_soon_back(
    keyed: Api, peer: Any, far: str
) -> None:
    assert keyed.run(far, "echo there") == "there\n"
    for _ in range(3):
        time.sleep(QUIET_SECONDS)  # nothing passes meanwhile
        peer.cut()
        assert keyed.run(far, "echo back") == "back\n"


@pytest.mark.slow
def test_stream_that_falls_silent_is_replaced(
    keyed: Api, peer: Any, far: str, cloud: Cloud
) -> None:
    if cloud is not E2B:
        pytest.skip("only the peer of E2B lets streams fall silent")
    assert keyed.run(far, "echo there") == "there\n"
    peer.silence()

    def answer() -> int:
        body = {"shell": "echo back"}
        return int(keyed.client.post(f"/v1/sandboxes/{far}/exec", json=body).status_code)

    until(answer, lambda status: status == 200, seconds=120)
    assert keyed.run(far, "echo back") == "back\n"


def test_lost_runtime_is_replaced_on_the_same_machine(
    server: TestServer, peer: Any, cloud: Cloud
) -> None:
    with api_of(server) as api:
        api.call("PUT", "/v1/secrets/CLOUD", json=cloud.secret)
        far = api.create(profile="cloud")["sandbox_id"]
        api.run(far, "(setsid sleep 5678 >/dev/null 2>&1 &)")
        before = peer.rented
        os.kill(api.box(far).runtime_pid, signal.SIGKILL)
        failed = api.until(far, lambda told: told["state"] == "failed")
        assert failed["reason"].startswith("runtime lost")
        api.act(far, "start")
        assert peer.rented == before
        assert api.run(far, "pgrep -xc sleep") == "1\n"
        api.act(far, "destroy")
        until(lambda: len(peer.live), lambda count: count == 0)


def test_repository_comes_and_is_pulled(
    keyed: Api, server: TestServer, peer: Any, tmp_path: Path
) -> None:
    repo = tmp_path / "repo"
    script = (
        f"git init -q -b main {repo} && cd {repo} && echo one > a && git add . && "
        "git -c user.name=a -c user.email=a@example.com commit -qm first"
    )
    subprocess.run(script, shell=True, check=True)
    done = server.run("new", ".", "--profile", "cloud", "--name", "cloned", "-d", cwd=repo)
    assert done.returncode == 0, done.stderr
    keyed.run("cloned", "echo two >> a && git commit -qam second")
    pulled = server.run("pull", "cloned", cwd=repo)
    assert pulled.returncode == 0, pulled.stderr
    keyed.act("cloned", "destroy")
    assert peer.live == []


def test_machines_left_behind_are_listed_and_ended_but_no_other(
    keyed: Api, server: TestServer, far: str, peer: Any, cloud: Cloud
) -> None:
    (mine,) = peer.live
    tags = mine.tags
    peer.stray(3, {**tags, "atoll-sandbox": "sb_zzzzzzzzzzzzzzzz"})
    peer.stray(2, {"atoll": "another-home", "atoll-sandbox": "sb_zzzzzzzzzzzzzzzz"})
    listed = keyed.call("GET", "/v1/extensions/strays")
    assert (listed["count"], listed["problems"]) == (3, [])
    assert {one["sandbox_id"] for one in listed["strays"]} == {"sb_zzzzzzzzzzzzzzzz"}
    shown = server.run("extension", "reap", "--json")
    assert (shown.returncode, len(peer.live)) == (0, 6)
    done = server.run("extension", "reap", "--yes")
    assert done.returncode == 0, done.stderr
    assert "ended 3 of 3" in done.stdout
    assert len(peer.live) == 3
    assert keyed.run(far, "echo here") == "here\n"
    peer.faults.plan("list", *[Fault.HALF] * 20)
    told = server.run("extension", "reap", "--yes")
    assert told.returncode == 1
    assert cloud.extension in told.stderr
    peer.faults.planned.clear()
    for sold in [one for one in peer.live if one.id != mine.id]:
        peer.end(sold)


def test_template_that_is_not_there_fails_the_create_with_the_vendors_words(
    keyed: Api, peer: Any
) -> None:
    peer.faults.planned.clear()
    before = peer.rented
    peer.faults.plan("create", *[Fault.REFUSED] * 20)
    made = keyed.client.post("/v1/sandboxes", json={"profile": "profile.cloud"})
    sandbox = made.json()["sandbox_id"]
    told = keyed.until(sandbox, lambda seen: seen["state"] == "failed")
    assert "no such template" in told["reason"]
    assert peer.rented == before
    peer.faults.planned.clear()
    keyed.act(sandbox, "destroy")


def test_machine_that_the_vendor_ends_fails_its_sandbox_at_once_with_the_reason(
    keyed: Api, peer: Any, cloud: Cloud
) -> None:
    sandbox = keyed.create(profile="cloud")["sandbox_id"]
    keyed.run(sandbox, "echo first > file")
    keyed.act(sandbox, "stop")
    keyed.act(sandbox, "start")
    keyed.run(sandbox, "echo second > file")
    (sold,) = peer.live
    peer.end(sold)
    began = time.monotonic()
    told = keyed.until(sandbox, lambda seen: seen["state"] == "failed")
    assert time.monotonic() - began < 30
    assert cloud.title in told["reason"]
    keyed.act(sandbox, "start")
    assert keyed.run(sandbox, "cat file") == "first\n"
    keyed.act(sandbox, "destroy")
    assert peer.live == []


def test_files_of_a_stopped_sandbox_are_read_and_kept(keyed: Api, peer: Any) -> None:
    sandbox = keyed.create(profile="cloud")["sandbox_id"]
    keyed.run(sandbox, "echo kept > file")
    keyed.act(sandbox, "stop")
    assert peer.live == []
    got = keyed.client.get(f"/v1/sandboxes/{sandbox}/files/content?path=file")
    assert (got.status_code, got.content) == (200, b"kept\n")
    keyed.act(sandbox, "start")
    assert keyed.run(sandbox, "cat file") == "kept\n"
    assert len(peer.live) == 1
    keyed.act(sandbox, "destroy")
    assert peer.live == []


def test_machine_whose_key_was_removed_is_told_and_ends_by_its_deadline(
    keyed: Api, peer: Any
) -> None:
    sandbox = keyed.create(profile="cloud")["sandbox_id"]
    assert keyed.client.delete("/v1/secrets/CLOUD").status_code == 204
    told = keyed.act(sandbox, "destroy")
    assert told["state"] == "destroyed"
    assert "whose key is not known any more" in str(keyed.events(sandbox))
    assert len(peer.live) == 1
    peer.advance(1801)
    assert peer.live == []
