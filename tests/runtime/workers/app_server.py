"""A scripted app-server: it counts the requests it saw, in a file, and does what they say.

A request `test/say` sends its params' `lines` as they are, then answers; `test/hang` is never
answered; `test/end` ends the program.
"""

import json
import sys
from pathlib import Path

RESULT = '{"big":9007199254740993, "one":1.0}'


def main(seen: str) -> None:
    """Serve until the input ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        with Path(seen).open("a") as counted:
            counted.write(line)
        method, number = asked.get("method"), asked.get("id")
        if number is None or method == "test/hang":
            continue
        params = asked.get("params", {})
        if method == "test/end":
            return
        for said in params.get("lines", []):
            sys.stdout.write(said + "\n")
        if method == "test/refuse" or (method, params.get("threadId")) == ("thread/resume", "lost"):
            print(json.dumps({"id": number, "error": {"code": -32600, "message": "no"}}))
        elif method in ("thread/start", "turn/start"):
            print(json.dumps({"id": number, "result": {"thread": {"id": "th"}}}))
        elif method:
            print(f'{{"id": {json.dumps(number)}, "result": {RESULT}}}')
        sys.stdout.flush()


main(sys.argv[1])
