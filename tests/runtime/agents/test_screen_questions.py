"""Menus of an agent that takes keys only, in a whole runtime: a shell script on a real PTY draws
them and reads keys."""

from dataclasses import replace
from typing import Any

import pytest

from atoll.ports.runtime_boot import Agent
from atoll.runtime.agents.questions.on_screen import ScreenQuestions
from tests.runtime.agents.test_agents import Person, Shown, act, at, until_cards
from tests.runtime.stage import Runtime, runtime

# Its person names an act in a line. `leave` and `ask` draw a menu and read its keys, one at a time,
# `quiet` draws one without a hook, `stay` draws one that no key takes away.
MENUS = r"""
tell() { printf '{"hook_event_name":"%s"%s}\n' "$1" "$2" 1<>"$ATOLL_EAR"; }
key() { dd bs=1 count=1 2>/dev/null; }
draw() { printf '\033[2J\033[H'; }
leave() {
  draw; printf '╭────╮\r\n│ ? Shell %s │\r\n│ ● 1. Allow once │\r\n' "$1"
  sleep 0.05; printf '│   2. No, stop │\r\n╰────╯\r\n'
}
database() {
  draw; printf '╭────╮\r\n│ Which database? │\r\n│ ● 1. SQLite │\r\n│      One file │\r\n'
  printf '│   2. Postgres │\r\n│   3. %s │\r\n╰────╯\r\n' "$1"
}
asks() { tell Notification ',"notification_type":"ToolPermission","message":"May I?"'; }
asking=$(stty -g); stty -echo; echo ready
while read -r did about; do
  stty -icanon -echo
  case $did in
  leave) asks; leave "$about"; k=$(key); draw; tell AfterTool; echo "took-$k." ;;
  two) asks; leave "$about"; k=$(key); leave other; j=$(key); draw; echo "took-$k-$j." ;;
  quiet) leave "$about"; k=$(key); draw; echo "took-$k." ;;
  stay) asks; leave "$about"; while k=$(key) && [ "$k" != q ]; do echo "took-$k."; done; draw ;;
  ask) asks; database 'Enter a custom value'; k=$(key)
    if [ "$k" = 3 ]; then
      database ''; said=
      while k=$(key) && [ -n "$k" ]; do said=$said$k; database "$said"; done
      k=$said
    fi
    draw; echo "took-$k." ;;
  end) tell AfterAgent; echo ended ;;
  esac
  stty "$asking"; stty -echo
done
"""
ASKING = Agent(
    "asking",
    ("sh", "-c", MENUS),
    watch_argv=("-",),
    transcript="gemini",
    menus=True,
)


def pending(shown: list[Shown]) -> list[str]:
    return [
        card["id"] for card in shown if card["state"] == "pending" and "answerable" in card["data"]
    ]


async def posed(rt: Runtime, agent_id: str, person: Person, act: str) -> Shown:
    """Have it ask; returns the card."""
    await person.sees(b"ready")
    await person.socket.send_bytes(f"{act}\n".encode())
    shown = await until_cards(rt, agent_id, lambda cards: len(pending(cards)) == 1)
    return next(card for card in shown if card["id"] == pending(shown)[0])


async def answer(rt: Runtime, agent_id: str, card: Shown, **given: str) -> tuple[int, Any]:
    # A person's keys are left alone for a moment: theirs were the act's.
    path = f"/sessions/{agent_id}/cards/{card['id']}/answer"
    while True:
        status, shown = await rt.call("POST", path, given)
        if (status, shown.get("code")) != (409, "draft"):
            return status, shown


async def test_permission_is_answered_by_its_digit_and_a_late_answer_is_typed_nowhere() -> None:
    async with runtime(agents=(ASKING,)) as rt, at(rt, "asking") as (agent_id, person):
        card = await posed(rt, agent_id, person, "leave make")
        assert (card["kind"], card["text"]) == ("approval", "? Shell make")
        assert [option["effect"] for option in card["options"]] == ["allow", "deny"]
        status = (await rt.call("GET", f"/agents/{agent_id}"))[1]["status"]
        assert (status["status"], status["answer"]) == ("needs_you", "protocol")
        assert (await answer(rt, agent_id, card, option="3"))[0] == 422
        assert (await answer(rt, agent_id, card, option="2"))[1]["state"] == "declined"
        await person.sees(b"took-2.")
        late, problem = await answer(rt, agent_id, card, option="1")
        assert (late, problem["code"]) == (409, "not_pending")
        await until_cards(rt, agent_id, lambda cards: not pending(cards))


async def test_question_takes_words_as_one_plain_line() -> None:
    async with runtime(agents=(ASKING,)) as rt, at(rt, "asking") as (agent_id, person):
        card = await posed(rt, agent_id, person, "ask")
        assert (card["kind"], card["text"]) == ("question", "Which database?\nSQLite: One file")
        assert [option["label"] for option in card["options"]] == ["SQLite", "Postgres"]
        done, shown = await answer(rt, agent_id, card, text="Maria\x1b[A\nDB")
        assert (done, shown["state"]) == (200, "done")
        await person.sees(b"took-Maria DB.")


async def test_question_that_is_answered_at_the_terminal_is_withdrawn() -> None:
    async with runtime(agents=(ASKING,)) as rt, at(rt, "asking") as (agent_id, person):
        card = await posed(rt, agent_id, person, "ask")
        await person.socket.send_bytes(b"1")
        await until_cards(rt, agent_id, lambda cards: not pending(cards))
        await person.sees(b"took-1.")
        late, problem = await answer(rt, agent_id, card, option="2")
        assert (late, problem["code"]) == (409, "not_pending")


async def test_another_question_takes_the_place_of_the_first_and_is_answered_for_itself() -> None:
    async with runtime(agents=(ASKING,)) as rt, at(rt, "asking") as (agent_id, person):
        first = await posed(rt, agent_id, person, "two make")
        await person.socket.send_bytes(b"1")
        shown = await until_cards(
            rt, agent_id, lambda cards: pending(cards) not in ([], [first["id"]])
        )
        second = next(card for card in shown if card["id"] == pending(shown)[0])
        assert second["text"] == "? Shell other"
        assert (await answer(rt, agent_id, first, option="2"))[1]["code"] == "not_pending"
        assert (await answer(rt, agent_id, second, option="2"))[0] == 200
        await person.sees(b"took-1-2.")


async def test_nothing_is_typed_while_a_person_types_and_a_menu_that_stays_is_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("atoll.runtime.agents.questions.on_screen.SETTLE_SECONDS", 0.5)
    async with runtime(agents=(ASKING,)) as rt, at(rt, "asking") as (agent_id, person):
        card = await posed(rt, agent_id, person, "stay make")
        await person.socket.send_bytes(b"x")
        await person.sees(b"took-x.")
        path = f"/sessions/{agent_id}/cards/{card['id']}/answer"
        status, problem = await rt.call("POST", path, {"option": "1"})
        assert (status, problem["code"]) == (409, "draft")
        status, problem = await answer(rt, agent_id, card, option="1")
        assert status == 409 and "still on the screen" in problem["detail"]
        await person.socket.send_bytes(b"q")
        await until_cards(rt, agent_id, lambda cards: not pending(cards))


async def test_menu_that_no_hook_told_of_is_none_and_the_turns_end_withdraws_one() -> None:
    async with runtime(agents=(ASKING,)) as rt, at(rt, "asking") as (agent_id, person):
        await person.sees(b"ready")
        await person.socket.send_bytes(b"quiet make\n")
        await person.sees(b"2. No")
        await person.socket.send_bytes(b"1")
        await person.sees(b"took-1.")
        card = await posed(rt, agent_id, person, "stay make")
        assert card["id"] == "screen:1"
        assert (await act(rt, agent_id, "stop", gaps=[0, 0, 0, 0]))[1]["agent_state"] == "stopped"
        await until_cards(rt, agent_id, lambda cards: not pending(cards))


@pytest.mark.parametrize(
    ("keys", "why"),
    [(b"1", "shows something else"), (b"3", "Somebody answers it")],
)
async def test_nothing_is_typed_into_a_screen_that_changed_before_anybody_looked(
    monkeypatch: pytest.MonkeyPatch, keys: bytes, why: str
) -> None:
    async with runtime(agents=(ASKING,)) as rt, at(rt, "asking") as (agent_id, person):
        card = await posed(rt, agent_id, person, "ask")
        monkeypatch.setattr(ScreenQuestions, "_look", lambda _: None)
        person.output = b""
        await person.socket.send_bytes(keys)
        await person.sees(b"took-1." if keys == b"1" else b"3.  ")
        path = f"/sessions/{agent_id}/cards/{card['id']}/answer"
        status, problem = await rt.call("POST", path, {"option": "2"})
        assert status == 409 and why in problem["detail"]


async def test_words_that_a_menu_does_not_take_are_not_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("atoll.runtime.agents.questions.on_screen.DRAW_SECONDS", 0.1)
    script = MENUS.replace('if [ "$k" = 3 ]; then', "if false; then")
    agent = replace(ASKING, argv=("sh", "-c", script))
    async with runtime(agents=(agent,)) as rt, at(rt, "asking") as (agent_id, person):
        card = await posed(rt, agent_id, person, "ask")
        assert (await answer(rt, agent_id, card, text="\x1b\x03"))[0] == 422
        status, problem = await answer(rt, agent_id, card, text="MariaDB")
        assert status == 409 and "did not take the words" in problem["detail"]
        await person.sees(b"took-3.")
        assert b"Maria" not in person.output


async def test_agent_at_a_terminal_asks_first_only_where_it_has_words_for_it() -> None:
    told = ("sh", "-c", "echo ready-$0-$*; cat", "calm")
    words = (("calm", "careful"),)
    agent = Agent("told", told, ask_words=words, resume_argv=told, conversation_argv=told)
    mute = Agent("mute", told)
    ask = {"permissions": "ask"}
    async with runtime(agents=(agent, mute)) as rt:
        for more in ({}, {"resume": True}, {"conversation": "calm"}):
            async with at(rt, "told", **ask, **more) as (_, person):
                await person.sees(f"ready-careful-{more.get('conversation', '')}\r".encode())
        async with at(rt, "told") as (_, person):
            await person.sees(b"ready-calm-")
        status, problem = await rt.call("POST", "/agents", {"agent": "mute", **ask})
        assert (status, problem["field"]) == (422, "permissions")
