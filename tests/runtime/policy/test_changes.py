"""What a policy changes in a living runtime, and how its journal tells of urgent things."""

import asyncio
import base64
import http.client
import os
import signal
import threading
import time
from pathlib import Path

from atoll.runtime.journal.journal import Journal
from tests.runtime.test_server import Unix, forked


def value_inside(child: object, name: str) -> str:
    line = {"argv": ["/bin/sh", "-c", f'printf %s "${name}"']}
    told = child.call("POST", "/execs", line)[1]  # type: ignore[attr-defined]
    return base64.b64decode(told["stdout"]).decode()


def test_policy_variables_go_to_what_is_started_from_then_on() -> None:
    with forked() as child:
        assert value_inside(child, "NEW") == ""
        env = [["NEW", "from the policy"]]
        assert child.call("PUT", "/policy", {"revision": 1, "env": env})[0] == 200
        assert value_inside(child, "NEW") == "from the policy"
        argv = {"argv": ["/bin/sh", "-c", 'printf %s "$NEW" > seen; sleep 60']}
        assert child.call("POST", "/sessions", argv)[0] == 201
        seen = child.home / "seen"
        deadline = time.monotonic() + 10
        while not seen.exists() or not seen.read_text():
            assert time.monotonic() < deadline
        assert seen.read_text() == "from the policy"
        request = {"argv": ["/bin/sh", "-c", 'printf %s "$NEW"'], "env": {"NEW": "mine"}}
        told = child.call("POST", "/execs", request)[1]
        assert base64.b64decode(told["stdout"]) == b"mine"
        assert child.call("PUT", "/policy", {"revision": 2})[0] == 200
        assert value_inside(child, "NEW") == ""


def test_reader_who_waits_does_not_hold_up_the_end() -> None:
    with forked() as child:
        child.call("GET", "/health")
        connection = Unix(child.path)
        connection.request("GET", "/journal?wait=60")
        said: list[object] = []

        def read() -> None:
            try:
                reply = connection.getresponse()
                said.extend((reply.status, reply.read()))
            except (OSError, http.client.HTTPException) as error:
                said.append(error)
            finally:
                connection.close()

        thread = threading.Thread(target=read)
        thread.start()
        assert child.call("GET", "/health")[0] == 200
        assert said == [], "answered before anything was to be told"
        os.kill(child.pid, signal.SIGTERM)
        assert child.wait() == 0
        thread.join(10)
        assert said


async def test_urgent_entry_wakes_and_others_do_not(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(journal.urgent(0, 60))
        await asyncio.sleep(0)
        journal.append("door.request", {})
        await asyncio.sleep(0)
        assert not waiting.done()
        journal.append("approval.asked", {})
    await journal.urgent(0, 60)
    await journal.urgent(1, 60)
    journal.acknowledge(2)
    await journal.urgent(0, 0.001)
    journal.release()
    await journal.urgent(0, 60)
    journal.close()


async def test_what_nobody_took_in_is_urgent_after_a_restart(tmp_path: Path) -> None:
    first = Journal(tmp_path)
    first.append("approval.asked", {})
    first.close()
    second = Journal(tmp_path)
    await second.urgent(0, 60)
    second.close()
