#!/usr/bin/python3
"""A small agent in place of Codex, where many work at a time: it is logged in as Codex is, and in
each turn it calls its model through the broker as Codex does, for two seconds."""

import http.client
import json
import sys
import time
from collections import Counter
from pathlib import Path

TURN_SECONDS = 2.0
PAUSE_SECONDS = 0.25


def say(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def call() -> int:
    """Ask the model with the login's placeholders. Returns the status of a whole answer."""
    tokens = json.loads((Path.home() / ".codex" / "auth.json").read_text())["tokens"]
    headers = {
        "Authorization": f"Bearer {tokens['access_token']}",
        "chatgpt-account-id": tokens["account_id"],
        "Content-Type": "application/json",
    }
    asked = {"input": [{"role": "user", "content": "[[say WELL]]"}], "stream": True}
    door = http.client.HTTPConnection("127.0.0.1", 8082, timeout=60)
    try:
        path = "/broker/chatgpt/backend-api/codex/responses"
        door.request("POST", path, json.dumps(asked), headers)
        answer = door.getresponse()
        told = answer.read()
    finally:
        door.close()
    return answer.status if answer.status != 200 or b"WELL" in told else 0


def turn(name: str) -> None:
    place = {"threadId": "th"}
    say({"method": "turn/started", "params": {**place, "turn": {"id": name}}})
    statuses: Counter[int] = Counter()
    ends = time.monotonic() + TURN_SECONDS
    while time.monotonic() < ends:
        statuses[call()] += 1
        time.sleep(PAUSE_SECONDS)  # its pace, as an agent calls its model
    status = "completed" if set(statuses) == {200} else "failed"
    item = {"type": "agentMessage", "id": f"{name}-said", "text": json.dumps(statuses)}
    say({"method": "item/completed", "params": {**place, "turnId": name, "item": item}})
    say({"method": "turn/completed", "params": {**place, "turn": {"id": name, "status": status}}})


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        number, method = asked.get("id"), asked.get("method")
        if number is None:
            continue
        name = f"turn-{number}"
        say({"id": number, "result": {"thread": {"id": "th"}, "turn": {"id": name}, "data": []}})
        if method == "turn/start":
            turn(name)


main()
