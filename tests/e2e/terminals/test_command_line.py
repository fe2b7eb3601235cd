"""The command line at a real terminal and a real sandbox: `exec -it`, and a guest's first keys."""

import asyncio
from collections.abc import Iterator

import pytest

from atoll.testing.server import TestServer
from tests.e2e.terminals.test_turns import attach_with, driver, guest
from tests.peers.api import Api, api_of
from tests.surfaces.cli.commands.terminals.test_attach import PersonTty, person_tty

ROUNDS = 4


@pytest.fixture
def api(atoll: TestServer) -> Iterator[Api]:
    with api_of(atoll) as made:
        yield made


def environ(server: TestServer) -> dict[str, str]:
    return {"ATOLL_URL": server.url, "ATOLL_TOKEN": server.token, "ATOLL_HOME": str(server.home)}


def test_exec_it_is_a_terminal_as_dockers(atoll: TestServer, api: Api) -> None:
    api.create(name="box")
    with person_tty(environ(atoll), "exec", "-it", "-e", "PS1=ready$ ", "box", "sh") as person:
        person.expect(b"ready$ ")
        _line(person, b"stty size", b"30 100\r\n")
        person.resize(90, 20)
        person.type(b"until stty size | grep '20 90'; do :; done\r")
        # The prompt may come after the echo of what was typed before it.
        person.expect(b"20 90\r\n")
        person.type(b"sleep 1000\r")
        person.expect(b"sleep 1000\r\n")
        _until_asleep(api)
        person.type(b"\x03")
        _line(person, b"echo it=$?", b"it=130\r\n")
        person.type(b"(exit 7)\r\x04")
        assert person.ends() == 7
        assert person.restored
    for words in (("box", "--", "sh", "-c", "exit 3"), ("box", "sh", "-c", "exit 3")):
        with person_tty(environ(atoll), "exec", "-it", *words) as person:
            assert person.ends() == 3
            assert person.restored
    by_name = "tee /dev/stderr < /dev/stdin | dd of=/dev/stdout status=none; echo e > /dev/fd/2"
    done = atoll.run("exec", "box", "--", "sh", "-c", by_name, input="in\n")
    assert (done.stdout, done.stderr) == ("in\n", "in\ne\n")


def _line(person: PersonTty, line: bytes, answer: bytes) -> None:
    told = len(person.seen)
    person.type(line + b"\r")
    person.expect(answer, since=told)


def _until_asleep(api: Api) -> None:
    for _ in range(1000):
        if "sleep" in api.run("box", "ps -eo comm || cat /proc/[0-9]*/comm"):
            return
    raise AssertionError("nothing sleeps")


async def test_keys_of_a_guest_arrive_from_the_grant_on_and_none_before(
    atoll: TestServer, api: Api
) -> None:
    sandbox = api.create(name="shared")["sandbox_id"]
    terminal = api.terminal(sandbox, "cat")
    link = atoll.run("share", "shared", "--role", "controller").stdout.strip()
    headers = {"Authorization": f"Bearer {atoll.token}"}
    home = {"ATOLL_HOME": str(atoll.home / "nobody")}
    async with attach_with(api.attach_url(sandbox, terminal), headers, client="ada") as ada:
        await ada.ws.send_bytes(b"mine\r")
        await ada.sees(b"mine\r\nmine")
        with person_tty(home, "attach", link, "--as", "Eve") as eve:
            await asyncio.to_thread(eve.expect, b"mine\r\nmine")
            for number in range(ROUNDS):
                await ada.until(lambda state: driver(state) not in (None, "Eve"))
                await asyncio.to_thread(eve.type, b"\x1d")
                await ada.until(lambda state: [one["name"] for one in state["waiting"]] == ["Eve"])
                told = len(eve.seen)
                await asyncio.to_thread(eve.type, b"early%d\r" % number)
                await asyncio.to_thread(eve.expect, b"was asked for control", since=told)
                await ada.say("grant_control")
                await ada.until(lambda state: driver(state) == "Eve")
                await asyncio.to_thread(eve.type, b"first%d\r" % number)
                await ada.sees(b"first%d\r\nfirst%d\r\n" % (number, number))
                told = len(eve.seen)
                await ada.say("revoke_control")
                # Until she knows, her key would give control back.
                await asyncio.to_thread(eve.expect, b" drives", since=told)
            assert b"early" not in ada.seen
            assert b"mine\r\nmine\r\nfirst0\r\nfirst0\r\nfirst1" in ada.seen
            await asyncio.to_thread(eve.type, b"\x1c")
            assert await asyncio.to_thread(eve.ends) == 0
            assert eve.restored


async def test_owner_at_the_command_line_hears_who_comes(atoll: TestServer, api: Api) -> None:
    sandbox = api.create()["sandbox_id"]
    terminal = api.terminal(sandbox, "cat")
    headers = guest(api, atoll, sandbox, "Bob")
    with person_tty(environ(atoll), "attach", sandbox, "--terminal", terminal) as person:
        person.type(b"here\r")
        await asyncio.to_thread(person.expect, b"here\r\nhere")
        assert b"came" not in person.seen
        async with attach_with(api.attach_url(sandbox, terminal), headers):
            await asyncio.to_thread(person.expect, b"\x1b]2;Bob came\a")
        person.type(b"\x1c")
        assert await asyncio.to_thread(person.ends) == 0
