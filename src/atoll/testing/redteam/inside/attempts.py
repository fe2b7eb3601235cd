"""Attempts, their facts, and their outcomes: each runs in a child with a time limit."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

HELD, SUCCEEDED, SKIPPED, BROKEN = "held", "succeeded", "skipped", "broken"
SECONDS = 40
MAX_TEXT = 2000


class SkipAttempt(Exception):
    """An attempt without meaning here; the text gives the reason."""


@dataclass(frozen=True)
class Facts:
    """The facts about the sandbox that came with the archive."""

    values: dict[str, Any]

    def flag(self, name: str) -> bool:
        """Return a fact that is true or false."""
        return bool(self.values.get(name))

    def words(self, name: str) -> list[Any]:
        """Return a fact that is a list."""
        return list(self.values.get(name) or ())

    def text(self, name: str) -> str:
        """Return a fact that is a text."""
        return str(self.values.get(name) or "")

    def needs(self, limit: str) -> None:
        """Check a limit. Raises `SkipAttempt` where the sandbox reports that it lacks it."""
        for each in self.words("degraded"):
            if str(each).startswith(limit):
                raise SkipAttempt(f"the sandbox says so itself: degraded: {each}")


@dataclass(frozen=True)
class Attempt:
    """An attempt. `run` returns what it obtained, or nothing when everything was refused. `number`
    is that of the list of threats."""

    number: str
    name: str
    run: Callable[[Facts], str]


def report(attempt: Attempt, facts: Facts) -> dict[str, str]:
    """Run an attempt in a child: whatever it does to itself, the others run too."""
    read, write = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.setsid()
        try:
            os.write(write, json.dumps(_outcome(attempt, facts)).encode())
        finally:
            os._exit(0)
    os.close(write)
    answer = _read(read)
    _end(child)
    outcome, text = json.loads(answer) if answer else (BROKEN, "it ended without a result, or hung")
    return {"number": attempt.number, "name": attempt.name, "outcome": outcome, "text": text}


def _outcome(attempt: Attempt, facts: Facts) -> tuple[str, str]:
    try:
        text = attempt.run(facts)
    except SkipAttempt as why:
        return SKIPPED, str(why)
    except Exception as error:  # noqa: BLE001  the root of this process: what broke is reported
        return BROKEN, f"{type(error).__name__}: {error}"[:MAX_TEXT]
    return (SUCCEEDED, text[:MAX_TEXT]) if text else (HELD, "")


def _read(fd: int) -> bytes:
    data = b""
    try:
        while select.select([fd], [], [], SECONDS)[0]:
            piece = os.read(fd, 65536)
            if not piece:
                return data
            data += piece
            if data.endswith(b"]"):
                return data
        return b""
    finally:
        os.close(fd)


def _end(child: int) -> None:
    with suppress(OSError):  # it ended by itself
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)


def collect(tries: Iterable[tuple[str, Callable[[], object]]]) -> str:
    """Return the results of several steps that did not end in an `OSError`; a step returns None for
    "refused"."""
    results = []
    for name, act in tries:
        try:
            result = act()
        except OSError:
            continue
        if result is not None:
            results.append(f"{name}: {result}")
    return "; ".join(results)
