"""Hooks that wait for an answer, in a whole runtime: an agent is played by a shell script."""

from typing import Any

from atoll.domain.agents.held_hooks import HOLD_COMMAND, MAX_HELD
from atoll.ports.runtime_boot import Agent
from tests.runtime.agents.test_agents import Person, Shown, act, at, until_cards
from tests.runtime.stage import Runtime, runtime

# Each line it reads is an act: a hook that asks about a command, the end of that command, the
# end of the hooks by a signal, or names of hooks that are not there.
ASKER = r"""
use='"tool_name":"Bash","tool_input":{"command":"'
ask() {
  told=$(printf '{"hook_event_name":"PermissionRequest",%s%s"}}' "$use" "$1" |
    sh -c 'echo $$ > "pid-$1"; eval "$HOLD"' sh "$1")
  echo "hook-$1:${told:-silent}."
}
stty -echo; echo ready
while read -r act name; do
  case $act in
  ask) ask "$name" & ;;
  over) printf '{"hook_event_name":"PostToolUse",%s%s"}}\n' "$use" "$name" 1<>"$ATOLL_EAR" ;;
  kill) kill "$(cat "pid-$name")" ;;
  forge) for n in 0 1 2 3 4 5 6 7 8 9; do echo "held AAAAAAAA0$n" 1<>"$ATOLL_EAR"; done
    echo forged ;;
  esac
done
"""
ASKING = Agent(
    "asking",
    ("sh", "-c", ASKER),
    env=(("HOLD", HOLD_COMMAND),),
    watch_argv=("-",),
    transcript="claude",
    held="claude",
)


def pending(shown: list[Shown]) -> list[str]:
    return [
        card["id"] for card in shown if card["state"] == "pending" and card["kind"] == "approval"
    ]


async def asked(rt: Runtime, agent_id: str, person: Person, name: str) -> str:
    """Have it ask about a command; returns the card."""
    await person.sees(b"ready")
    await person.socket.send_bytes(f"ask {name}\n".encode())
    shown = await until_cards(rt, agent_id, lambda cards: len(pending(cards)) == 1)
    return pending(shown)[0]


async def answer(rt: Runtime, agent_id: str, card: str, option: str) -> tuple[int, Any]:
    return await rt.call("POST", f"/sessions/{agent_id}/cards/{card}/answer", {"option": option})


async def status_of(rt: Runtime, agent_id: str) -> Any:
    return (await rt.call("GET", f"/agents/{agent_id}"))[1]["status"]


async def test_question_at_a_terminal_is_answered_from_elsewhere_and_a_late_answer_is_refused() -> (
    None
):
    async with runtime(agents=(ASKING,)) as rt, at(rt, "asking") as (agent_id, person):
        card = await asked(rt, agent_id, person, "make")
        status = await status_of(rt, agent_id)
        assert (status["status"], status["answer"]) == ("needs_you", "protocol")
        assert [option["id"] for option in status["options"]] == ["allow", "deny"]
        assert status["question"] == "Allow Bash? make"
        assert (await answer(rt, agent_id, card, "maybe"))[0] == 422
        done, shown = await answer(rt, agent_id, card, "allow")
        assert (done, shown["state"]) == (200, "done")
        await person.until(lambda one: b'"behavior":"allow"' in one.output)
        late, problem = await answer(rt, agent_id, card, "deny")
        assert (late, problem["code"]) == (409, "not_pending")
        assert (await status_of(rt, agent_id))["status"] != "needs_you"


async def test_question_that_was_answered_at_the_terminal_ends_and_its_hook_says_nothing() -> None:
    async with runtime(agents=(ASKING,)) as rt, at(rt, "asking") as (agent_id, person):
        card = await asked(rt, agent_id, person, "make")
        await person.socket.send_bytes(b"over other\n")
        await person.socket.send_bytes(b"over make\n")
        await until_cards(rt, agent_id, lambda cards: not pending(cards))
        await person.sees(b"hook-make:silent.")
        late, problem = await answer(rt, agent_id, card, "allow")
        assert (late, problem["code"]) == (409, "not_pending")


async def test_question_whose_hook_is_ended_by_a_signal_waits_no_longer() -> None:
    async with runtime(agents=(ASKING,)) as rt, at(rt, "asking") as (agent_id, person):
        await asked(rt, agent_id, person, "make")
        await person.socket.send_bytes(b"kill make\n")
        await until_cards(rt, agent_id, lambda cards: not pending(cards))
        await person.sees(b"hook-make:silent.")


async def test_forged_names_ask_nothing() -> None:
    async with runtime(agents=(ASKING,)) as rt, at(rt, "asking") as (agent_id, person):
        await person.sees(b"ready")
        await person.socket.send_bytes(b"forge\n")
        await person.sees(b"forged")
        assert (await status_of(rt, agent_id))["status"] != "needs_you"
        assert (await act(rt, agent_id, "stop", gaps=[0, 0, 0, 0]))[1]["agent_state"] == "stopped"


async def test_no_more_than_a_few_questions_wait_and_all_end_with_their_agent() -> None:
    async with runtime(agents=(ASKING,)) as rt, at(rt, "asking") as (agent_id, person):
        await person.sees(b"ready")
        for n in range(MAX_HELD + 2):
            await person.socket.send_bytes(f"ask more{n}\n".encode())
        shown = await until_cards(rt, agent_id, lambda cards: len(pending(cards)) == MAX_HELD)
        assert all(card["data"]["answerable"] for card in shown if card["id"] in pending(shown))
        assert (await act(rt, agent_id, "stop", gaps=[0, 0, 0, 0]))[1]["agent_state"] == "stopped"
        await until_cards(rt, agent_id, lambda cards: not pending(cards))
