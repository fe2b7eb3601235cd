"""A scripted app-server that stands in for Codex: it answers every request at once.

The name that `thread/name/set` sets tells it what to do besides: `say` writes one line that has the
moment it was written, `flood:N` writes N bytes of text deltas and then a line that ends them.
Standard library alone, as it runs inside a sandbox; arguments are ignored.
"""

import json
import sys
import time
from typing import Final

DELTA: Final = "item/agentMessage/delta"
SAID: Final = "item/completed"
PIECE: Final = "x" * 4000
PAUSE_SECONDS: Final = 0.2
"""Between an answer and a line: a poll waits already when the line comes."""


def write(message: dict[str, object]) -> None:
    """Write one line, and let it go."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def say() -> None:
    """Write a line with the moment: all processes of a machine read one clock."""
    time.sleep(PAUSE_SECONDS)
    write({"method": SAID, "params": {"at": time.perf_counter()}})


def flood(size: int) -> None:
    """Write so many bytes of deltas."""
    time.sleep(PAUSE_SECONDS)
    line = json.dumps({"method": DELTA, "params": {"delta": PIECE}}) + "\n"
    for _ in range(-(-size // len(PIECE))):
        sys.stdout.write(line)
    write({"method": SAID, "params": {"flood": "ended"}})


def main() -> None:
    """Serve until the input ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        number = asked.get("id")
        if number is None or "method" not in asked:
            continue
        write({"id": number, "result": {"thread": {"id": "th"}, "data": []}})
        name = str(asked.get("params", {}).get("name", ""))
        if name == "say":
            say()
        elif name.startswith("flood:"):
            flood(int(name.partition(":")[2]))


if __name__ == "__main__":
    main()
