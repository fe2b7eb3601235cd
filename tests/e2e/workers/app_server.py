#!/usr/bin/python3
"""A counting app-server in place of Codex: it writes down each request that it saw, says something
of it, and answers. A name that begins with `hold` is not answered; of one that begins with `speak`
it says pieces first."""

import json
import sys
import time
from pathlib import Path

SEEN = Path("/workspace/seen")


def say(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        number, method, params = asked.get("id"), asked.get("method"), asked.get("params", {})
        if number is None:
            continue
        if method != "thread/name/set":
            say({"id": number, "result": {"thread": {"id": "th"}, "data": []}})
            continue
        name = params["name"]
        with SEEN.open("a") as seen:
            seen.write(name + "\n")
        if name.startswith("speak"):
            for piece in ("Hello, ", f"it is {params['name']}. ", "Good bye."):
                said = {"threadId": "th", "itemId": name, "delta": piece}
                say({"method": "item/agentMessage/delta", "params": said})
            time.sleep(1)  # deltas come well before their item
        if not name.startswith("hold"):
            say({"method": "item/completed", "params": {"threadId": "th", "item": {"id": name}}})
            say({"id": number, "result": {"name": name}})


main()
