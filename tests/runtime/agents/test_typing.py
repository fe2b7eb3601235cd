"""Prompts typed for an agent on a machine so busy that its TUI reads late."""

import pytest

from atoll.ports.runtime_boot import Agent
from atoll.runtime.agents import tui
from tests.runtime.agents.test_agents import at
from tests.runtime.stage import runtime

# As TUIs do, it takes an Enter that it reads together with a paste for a part of it.
LATE = r"""
import os, select, sys, time, tty

def report(event):
    if "--watched" in sys.argv:
        ear = os.open(os.environ["ATOLL_EAR"], os.O_RDWR)
        os.write(ear, b'{"hook_event_name":"%s"}\n' % event)

tty.setraw(0)
if "starting" not in sys.argv:
    report(b"SessionStart")
os.write(1, b"\x1b[?2004hready")
select.select([0], [], [])
time.sleep(1)
prompt = b""
while True:
    data = os.read(0, 65536)
    if data != b"\r":
        prompt += data
        os.write(1, b"drew<%d>" % len(prompt))
        if "starting" in sys.argv:
            report(b"SessionStart")
    elif prompt:
        report(b"UserPromptSubmit")
        os.write(1, b"took<%s>" % prompt[6:].partition(b"\x1b")[0])
        prompt = b""
    else:
        os.write(1, b"nothing to take")
"""
LATE_AGENT = ("python3", "-c", LATE)
MUTE = Agent("mute", LATE_AGENT)
WATCHED = Agent("watched", LATE_AGENT, watch_argv=("--watched",), transcript="claude")
STARTING = Agent(
    "starting", (*LATE_AGENT, "starting"), watch_argv=("--watched",), transcript="gemini"
)
COMMAND = "/model"


async def test_enter_waits_until_the_agent_has_drawn_the_prompt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tui, "PATIENCE_SECONDS", 60.0)
    async with runtime(agents=(MUTE,)) as rt, at(rt, "mute") as (agent_id, person):
        await person.sees(b"ready")
        asked = await rt.call("POST", f"/sessions/{agent_id}/ask", {"prompt": "Mend it."})
        assert asked[0] == 202
        await person.sees(b"took<Mend it.>")


async def test_enter_that_became_part_of_the_prompt_is_pressed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only by its hooks is known that nothing began: it drew something."""
    monkeypatch.setattr(tui, "PATIENCE_SECONDS", 0.1)
    async with runtime(agents=(WATCHED,)) as rt, at(rt, "watched") as (agent_id, person):
        await person.is_told("running", "waiting")
        await person.sees(b"ready")
        asked = await rt.call("POST", f"/sessions/{agent_id}/ask", {"prompt": "Mend it."})
        assert asked[0] == 202
        await person.sees(b"took<Mend it.>")
        await person.is_told("running", "working")
        assert b"nothing to take" not in person.output


async def test_enter_lost_while_the_agent_still_starts_is_pressed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its first report comes after it was asked."""
    monkeypatch.setattr(tui, "PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(tui, "FIRST_REPORT_SECONDS", 3.0)
    async with runtime(agents=(STARTING,)) as rt, at(rt, "starting") as (agent_id, person):
        await person.sees(b"ready")
        asked = await rt.call("POST", f"/sessions/{agent_id}/ask", {"prompt": "Mend it."})
        assert asked[0] == 202
        await person.sees(b"took<Mend it.>")


async def test_command_to_the_agent_itself_gets_one_enter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It begins no turn, and a second Enter would choose what it offers."""
    monkeypatch.setattr(tui, "PATIENCE_SECONDS", 60.0)
    quiet = LATE.replace('report(b"UserPromptSubmit")', "pass")
    agent = Agent(
        "watched", ("python3", "-c", quiet), watch_argv=("--watched",), transcript="claude"
    )
    async with runtime(agents=(agent,)) as rt, at(rt, "watched") as (agent_id, person):
        await person.sees(b"ready")
        asked = await rt.call("POST", f"/sessions/{agent_id}/ask", {"prompt": COMMAND})
        assert asked[0] == 202
        await person.sees(b"took</model>")
        assert b"nothing to take" not in person.output
