#!/usr/bin/python3
"""A Codex on a person's desktop: once it is asked to, it works without an end, and says so. What it
did is in the file `ticks` of its workspace, what it was asked in `seen`. At a terminal it resumes a
thread and repeats what is typed."""

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
        time.sleep(TICK_SECONDS)  # its pace, which the test counts by


def main() -> None:
    """Serve until the input ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        number, method = asked.get("id"), asked.get("method")
        if number is None:
            continue
        if method == "thread/start":
            say({"method": "thread/started", "params": {"thread": {"id": "th"}}})
        with Path("seen").open("a") as seen:
            seen.write(f"{method}\n")
        say({"id": number, "result": {"thread": {"id": "th"}, "data": []}})
        if method == "thread/name/set":
            threading.Thread(target=work, daemon=True).start()


def talk() -> None:
    """Repeat what a person types."""
    thread = "th" if "th" in sys.argv else "nothing"
    print(f"resumed {thread} in {Path.cwd().name}", flush=True)
    for line in sys.stdin:
        print(f"you said {line.strip()}", flush=True)


if "resume" in sys.argv:
    talk()
else:
    main()
