"""Judgement of what an extension answers: its shape and size, and that it answers for its own."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar
from urllib.parse import urlsplit

from atoll.domain.errors import Failed
from atoll.domain.wall.isolation import Isolation
from atoll.ports.extension import (
    Capabilities,
    CleanupReport,
    Ended,
    Handle,
    Provision,
    Reachability,
)

T = TypeVar("T")

MAX_SURVEYED = 10_000
MAX_DATA_CHARACTERS = 16 * 1024
MAX_SENTENCES = 100
MAX_SENTENCE = 2_000


class AnswerJudge:
    """Returns an answer of the extension `name` when it is one. Raises `Failed`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def handle(self, request: Provision, answer: object) -> Handle:
        """Return the handle of what was provisioned."""
        handle = self._handle("provision", answer)
        if (handle.sandbox_id, handle.generation) != (request.sandbox_id, request.generation):
            raise Failed(
                f"{self._name} answered provision of {request.sandbox_id} (generation "
                f"{request.generation}) by a handle of another sandbox or generation"
            )
        return replace(handle, host=request.host)

    def reach(self, answer: object) -> Reachability:
        """Return how a runtime is reached."""
        reach = self._is("wait_ready", answer, Reachability)
        if not isinstance(reach.isolation, Isolation):
            raise self._wrong("wait_ready", "no isolation")
        if reach.token is not None and not isinstance(reach.token, str):
            raise self._wrong("wait_ready", "a token that is no text")
        if not _is_address(reach.address):
            raise self._wrong("wait_ready", "an address that is neither unix:/path nor http(s)://")
        return reach

    def identity(self, handle: Handle, sandbox_id: str, generation: int) -> None:
        """Judge whose runtime it is that answered."""
        if (sandbox_id, generation) != (handle.sandbox_id, handle.generation):
            raise self._wrong("wait_ready", "the address of another sandbox or generation")

    def report(self, answer: object) -> CleanupReport:
        """Return what a teardown removed and left."""
        report = self._is("teardown", answer, CleanupReport)
        return CleanupReport(_sentences(report.removed), _sentences(report.leftovers))

    def survey(self, answer: object) -> list[Handle]:
        """Return what runs."""
        if not isinstance(answer, list | tuple) or len(answer) > MAX_SURVEYED:
            raise self._wrong("survey", f"no list of at most {MAX_SURVEYED} handles")
        return [self._handle("survey", one) for one in answer]

    def ended(self, answer: object) -> Ended:
        """Return an end."""
        ended = self._is("ended", answer, Ended)
        if not isinstance(ended.sandbox_id, str) or not isinstance(ended.generation, int):
            raise self._wrong("ended", "no sandbox and generation")
        return replace(ended, reason=str(ended.reason)[:MAX_SENTENCE])

    def reason(self, answer: object) -> str | None:
        """Return the reason of an end."""
        return None if answer is None else self._is("why_ended", answer, str)[:MAX_SENTENCE]

    def capabilities(self, answer: object) -> Capabilities:
        """Return what it can do."""
        return self._is("capabilities", answer, Capabilities)

    def _handle(self, verb: str, answer: object) -> Handle:
        handle = self._is(verb, answer, Handle)
        if handle.extension != self._name:
            raise self._wrong(verb, f"a handle of {str(handle.extension)[:80]!r}")
        if not isinstance(handle.sandbox_id, str) or not isinstance(handle.generation, int):
            raise self._wrong(verb, "a handle without sandbox and generation")
        if not _is_data(handle.data):
            raise self._wrong(verb, "a handle whose data are not short pairs of texts")
        return handle

    def _is(self, verb: str, answer: object, kind: type[T]) -> T:
        if not isinstance(answer, kind):
            told = "nothing" if answer is None else type(answer).__name__
            raise self._wrong(verb, f"{told} where {kind.__name__} is due")
        return answer

    def _wrong(self, verb: str, what: str) -> Failed:
        return Failed(f"{self._name} answered {verb} by {what}: this is a fault of the extension")


def _is_address(address: object) -> bool:
    if not isinstance(address, str) or len(address) > MAX_SENTENCE:
        return False
    if address.startswith("unix:"):
        return address[5:6] == "/"
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _is_data(data: object) -> bool:
    if not isinstance(data, tuple):
        return False
    characters = 0
    for pair in data:
        if not isinstance(pair, tuple) or len(pair) != 2:
            return False
        if not all(isinstance(one, str) for one in pair):
            return False
        characters += sum(map(len, pair))
    return characters <= MAX_DATA_CHARACTERS


def _sentences(told: Iterable[object]) -> tuple[str, ...]:
    return tuple(str(one)[:MAX_SENTENCE] for one in tuple(told)[:MAX_SENTENCES])
