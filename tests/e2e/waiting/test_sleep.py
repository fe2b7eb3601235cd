"""A sandbox sleeps and is woken by whoever uses it, on the real wall."""

import asyncio
import random
from pathlib import Path

import aiohttp
import pytest

from tests.peers.api import Api
from tests.peers.terminal_client import attached

SHOWN = b"only-on-the-screen"
LARGEST = 256 << 20
IDLE_SECONDS = 1
ROUNDS = 12
DROWSY = f"""\
id: profile.drowsy
version: "1.0.0"
extension: ext.namespaces
ttl: {{default: 1h, max: 2h, idle_stop: {IDLE_SECONDS}s}}
idle_action: sleep
"""
PROFILES = {"drowsy": DROWSY}


@pytest.fixture
def asleep(api: Api) -> str:
    """A sandbox that sleeps, with a file."""
    sandbox: str = api.create()["sandbox_id"]
    api.run(sandbox, "echo kept > file")
    assert api.act(sandbox, "sleep")["asleep"]
    return sandbox


def test_command_wakes_it_and_finds_its_files(api: Api, asleep: str) -> None:
    assert api.run(asleep, "cat file") == "kept\n"
    assert not api.sandbox(asleep)["asleep"]
    reasons = [
        one["reason"] for one in api.events(asleep) if one["event_type"] == "sandbox.provisioning"
    ]
    assert reasons[-1] == "woken"


def test_looking_wakes_nothing(api: Api, asleep: str) -> None:
    assert api.sandbox(asleep)["state"] == "stopped"
    api.call("GET", "/v1/sandboxes")
    api.events(asleep)
    assert api.sandbox(asleep)["asleep"]


async def test_terminal_comes_back_with_what_it_showed(api: Api) -> None:
    sandbox = api.create()["sandbox_id"]
    terminal = api.terminal(sandbox)
    url = api.attach_url(sandbox, terminal)
    async with aiohttp.ClientSession(headers=api.headers) as session:
        async with attached(session, url, "ada") as ada:
            await ada.type(b"mkdir -p deep/down && cd deep/down && echo be''fore\r")
            await ada.sees(b"before")
        await asyncio.to_thread(api.act, sandbox, "sleep")
        before = ada
        async with attached(session, url, "ada") as ada:
            await ada.sees(b"This sandbox slept for")
            assert bytes(ada.output).startswith(bytes(before.output)) and ada.exact
            await ada.type(b"pwd\r")
            await ada.sees(b"/workspace/deep/down\r\n")


async def test_access_at_the_instant_of_sleep_is_never_lost(api: Api) -> None:
    sandbox = api.create(profile="drowsy")["sandbox_id"]
    pauses = random.Random(17)
    for number in range(ROUNDS):
        # What it writes is known to have happened once, and its answer to have come.
        said = await asyncio.to_thread(api.run, sandbox, f"echo {number} >> file; wc -l < file")
        assert said == f"{number + 1}\n"
        # The next one comes about as it falls asleep.
        await asyncio.sleep(IDLE_SECONDS + pauses.uniform(-0.15, 0.25))
    kinds = [event["reason"] for event in api.events(sandbox)]
    assert "woken" in kinds
    assert len(kinds) < 20 * ROUNDS


async def test_what_a_terminal_showed_is_nowhere_readable_on_disk(api: Api) -> None:
    sandbox = api.create(profile="shell")["sandbox_id"]
    url = api.attach_url(sandbox, api.terminal(sandbox))
    async with aiohttp.ClientSession(headers=api.headers) as session:
        async with attached(session, url, "ada") as ada:
            await ada.type(b"echo only-on-the-''screen\r")
            await ada.sees(SHOWN)
        await asyncio.to_thread(api.act, sandbox, "sleep")
        assert _files_with(api, SHOWN) == []
        async with attached(session, url, "ada") as ada:
            await ada.sees(SHOWN)
    assert _files_with(api, SHOWN) == []


def _files_with(api: Api, words: bytes) -> list[Path]:
    """The files of the installation in which these words can be read. Images of workspaces are left
    out: they are gigabytes, and nothing of Atoll's own is in them."""
    return [
        path
        for path in api.server.home.rglob("*")
        if path.is_file()
        and not path.is_symlink()
        and path.stat().st_size < LARGEST
        and words in path.read_bytes()
    ]
