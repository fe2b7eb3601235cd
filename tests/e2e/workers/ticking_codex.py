#!/usr/bin/python3
"""A Codex on a person's desktop: once it is asked to, it works without an end, and says so. What it
did is in the file `ticks` of its workspace, what it was asked in `seen`."""

import json
import sys
import threading
import time
from pathlib import Path

TICK_SECONDS = 0.1


def say(message: dict[str, object]) -> None:
    """Write one message."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def work() -> None:
    """Work for as long as it is let."""
    number = 0
    while True:
        number += 1
        with Path("ticks").open("a") as ticks:
            ticks.write(f"{number}\n")
        say({"method": "item/completed", "params": {"threadId": "th", "item": {"id": str(number)}}})
        time.sleep(TICK_SECONDS)


def main() -> None:
    """Serve until the input ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        number, method = asked.get("id"), asked.get("method")
        if number is None:
            continue
        with Path("seen").open("a") as seen:
            seen.write(f"{method}\n")
        say({"id": number, "result": {"thread": {"id": "th"}, "data": []}})
        if method == "thread/name/set":
            threading.Thread(target=work, daemon=True).start()


main()
