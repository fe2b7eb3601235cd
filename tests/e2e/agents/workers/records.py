"""What real agents have written down of their own conversations, read as it is on their disks.

No line of Atoll translates it, so a worker's stream can be compared with it: each turn and item
once, in order.
"""

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.e2e.agents.agent_world import World, run

OPENCODE = """
import json, os, sqlite3, sys
rows = sqlite3.connect(os.path.expanduser("~/.local/share/opencode/opencode.db"))
messages = "select id, data from message where session_id = ? order by time_created, id"
parts = "select data from part where message_id = ? order by id"
for name, said in rows.execute(messages, sys.argv[1:]).fetchall():
    found = [json.loads(one) for (one,) in rows.execute(parts, [name])]
    print(json.dumps({"id": name, "role": json.loads(said)["role"], "parts": found}))
"""


INTERRUPTED = "[Request interrupted"
"""What Claude Code writes down as said by its person, who said nothing."""


SYNTHETIC = "<synthetic>"
"""Claude Code's name for the model of what it writes down itself, where it takes a thread up."""


class Item(NamedTuple):
    """An item: its type in Codex's words, its text or command, and the agent's own id of it, or
    nothing where the agent has none that it says."""

    type: str
    words: str
    id: str


class Turn(NamedTuple):
    """A turn, and the agent's own id of it, or nothing."""

    id: str
    items: list[Item]


def of_codex(lines: list[Any]) -> Iterator[Turn]:
    """Read a rollout."""
    turns: dict[str, Turn] = {}
    for said in (line["payload"] for line in lines if line["type"] == "event_msg"):
        if said["type"] == "task_started":
            turns[said["turn_id"]] = Turn(said["turn_id"], [])
        elif said["type"] == "item_completed":
            item = said["item"]
            content = item.get("content") or []
            words = shlex.join(item.get("command", ())) or "".join(one["text"] for one in content)
            name = item["type"][0].lower() + item["type"][1:]
            turns[said["turn_id"]].items.append(Item(name, words, item["id"]))
    yield from turns.values()


def of_claude(lines: list[Any]) -> Iterator[Turn]:
    """Read a transcript. A turn begins with what a person said, and has its id. A text has the id
    of the model's message in that turn: its pieces come before its line has one."""
    turn, texts = Turn("", []), Counter[str]()
    for line in lines:
        if line["type"] not in ("user", "assistant"):
            continue
        if line["message"].get("model") == SYNTHETIC:
            continue
        content = line["message"]["content"]
        for block in content:
            if block["type"] == "tool_use":
                command = block["input"]["command"]
                turn.items.append(Item("commandExecution", command, block["id"]))
            elif block["type"] == "text" and line["type"] == "assistant":
                said = f"{turn.id}:{line['message']['id']}"
                name = f"{said}:{texts[said]}"
                texts[said] += 1
                turn.items.append(Item("agentMessage", block["text"], name))
            elif block["type"] == "text" and not block["text"].startswith(INTERRUPTED):
                yield from [turn] if turn.id else []
                name = line["uuid"]
                turn = Turn(name, [Item("userMessage", block["text"], name)])
    yield turn


def of_opencode(lines: list[Any]) -> Iterator[Turn]:
    """Read the messages of a session. The ids of a person's are not said."""
    turn = Turn("", [])
    for line in lines:
        if line["role"] == "user":
            yield from [turn] if turn.items else []
            words = "".join(one["text"] for one in line["parts"])
            turn = Turn("", [Item("userMessage", words, "")])
            continue
        for part in line["parts"]:
            if part["type"] == "text":
                turn.items.append(Item("agentMessage", part["text"], f"{line['id']}:0"))
            elif part["type"] == "tool":
                command = part["state"]["input"]["command"]
                turn.items.append(Item("commandExecution", command, part["callID"]))
    yield turn


READERS: dict[str, tuple[tuple[str, ...], Callable[[list[Any]], Iterator[Turn]]]] = {
    "codex": (("sh", "-c", "cat ~/.codex/sessions/*/*/*/rollout-*-$0.jsonl"), of_codex),
    "claude-code": (("sh", "-c", "cat ~/.claude/projects/-workspace/$0.jsonl"), of_claude),
    "opencode": (("python3", "-c", OPENCODE), of_opencode),
}


async def recorded(w: World, sandbox: str, agent: str, thread: str) -> list[Turn]:
    """The turns of a thread, as the agent has written them down so far."""
    argv, read = READERS[agent]
    code, text = await run(w, sandbox, *argv, thread)
    assert code == 0, text
    return [*read([json.loads(line) for line in text.splitlines()])]


def streamed(events: list[dict[str, Any]], agent: str, thread: str) -> list[Turn]:
    """The turns of a thread, as a worker's stream has them."""
    turns: dict[str, Turn] = {}
    own = agent != "opencode"
    for said in (one["payload"]["event"] for one in events if "event" in one["payload"]):
        params = json.loads(said["params"])
        if params.get("threadId") != thread:
            continue
        if said["method"] == "turn/started":
            name = params["turn"]["id"]
            assert name not in turns
            turns[name] = Turn(name if own else "", [])
        elif said["method"] == "item/completed":
            item, person = params["item"], params["item"]["type"] == "userMessage"
            content = "".join(one["text"] for one in item["content"]) if person else ""
            words = item.get("text") or item.get("command") or content
            name = item["id"] if own or not person else ""
            turns[params["turnId"]].items.append(Item(item["type"], words, name))
    return [*turns.values()]
