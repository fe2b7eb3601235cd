"""What an order for a terminal or an agent says, seen by the program that it starts."""

from atoll.ports.runtime_boot import Agent
from atoll.wire.attach import Exited
from tests.runtime.stage import Runtime, runtime

SIZED = Agent(
    "sized",
    ("sh", "-c", "stty size; echo afresh"),
    resume_argv=("sh", "-c", "stty size; echo again"),
)


async def _printed(rt: Runtime, terminal_id: str) -> list[bytes]:
    async with rt.attach(terminal_id) as watcher:
        await watcher.until(Exited)
        return bytes(watcher.seen).split()


async def test_terminal_opens_with_the_size_directory_and_name_of_its_order() -> None:
    async with runtime() as rt:
        options = {"cols": 91, "rows": 17, "cwd": "/tmp", "name": "mine"}
        terminal = await rt.open("sh", "-c", "stty size; pwd", **options)
        assert await _printed(rt, terminal) == [b"17", b"91", b"/tmp"]
        assert (await rt.call("GET", f"/sessions/{terminal}"))[1]["name"] == "mine"


async def test_agent_opens_at_the_size_of_its_order_and_resumes_when_told_to() -> None:
    async with runtime(agents=(SIZED,)) as rt:
        for resume, expected in ((True, b"again"), (False, b"afresh")):
            options = {"agent": "sized", "cols": 91, "rows": 17, "resume": resume}
            status, shown = await rt.call("POST", "/agents", options)
            assert status == 201, shown
            assert await _printed(rt, shown["id"]) == [b"17", b"91", expected]
