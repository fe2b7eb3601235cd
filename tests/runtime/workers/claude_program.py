"""A scripted Claude Code over stream-json: one session a process, which is kept in a file.

A prompt `ask` wants a tool, `wait` never ends, any other is answered. The odd bytes of a line are
the test's, to be found again as they are. Each start is counted in the file `starts`.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

ODD = '{"type":"system", "subtype":"status", "n":9007199254740993,"f":1.0, "t":"\\u0041"}'


def say(**line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def answered(session: str, uuid: str, words: str) -> None:
    content = [{"type": "text", "text": f"{words} in {session}"}]
    say(type="assistant", uuid=f"a-{uuid}", session_id=session, message={"content": content})
    say(type="result", subtype="success", is_error=False, session_id=session)


class Session:
    """A session of the scripted program."""

    def __init__(self, folder: Path, name: str) -> None:
        self.transcript = folder / name
        self.name = name
        self.waiting = ""

    def take(self, asked: dict[str, Any]) -> None:
        """Do what one line wants."""
        match asked["type"]:
            case "control_response":
                answered(self.name, self.waiting, asked["response"]["response"]["behavior"])
            case "control_request":
                response = {"subtype": "success", "request_id": asked["request_id"]}
                say(type="control_response", response=response)
                if asked["request"]["subtype"] == "interrupt":
                    say(type="result", subtype="error_during_execution", is_error=True)
            case _:
                self.prompt(asked["uuid"], asked["message"]["content"][0]["text"])

    def prompt(self, uuid: str, words: str) -> None:
        """Begin a turn."""
        self.transcript.touch()
        self.waiting = uuid
        say(type="system", subtype="init", session_id=self.name)
        sys.stdout.write(ODD + "\n")
        if words == "ask":
            request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}}
            say(type="control_request", request_id=f"c-{uuid}", request=request)
        elif words != "wait":
            answered(self.name, uuid, words)


def main(folder: Path, mode: str, name: str) -> None:
    """Serve until the input ends."""
    (folder / "pid").write_text(str(os.getpid()))
    with (folder / "starts").open("a") as starts:
        starts.write(f"{mode} {name}\n")
    session = Session(folder, name)
    if mode == "--resume" and not session.transcript.exists():
        say(type="result", subtype="error_during_execution", is_error=True, session_id=name)
        sys.exit(1)
    for line in sys.stdin:
        session.take(json.loads(line))
    while (folder / "stays").exists():
        time.sleep(0.02)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[-2:])
