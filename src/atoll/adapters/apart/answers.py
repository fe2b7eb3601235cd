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
    KeptDisk,
    Provision,
    Reachability,
)

T = TypeVar("T")

MAX_SURVEYED = 10_000
MAX_DATA_CHARACTERS = 16 * 1024
MAX_SENTENCES = 100
MAX_SENTENCE = 2_000


class AnswerJudge:
    """The checker of the answers of extension `name`: it returns those of the right shape. Raises
    `Failed`."""

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
        """Return the way to a runtime."""
        reach = self._check_kind("wait_ready", answer, Reachability)
        if not isinstance(reach.isolation, Isolation):
            raise self._wrong_answer("wait_ready", "no isolation")
        if reach.token is not None and not isinstance(reach.token, str):
            raise self._wrong_answer("wait_ready", "a token that is no text")
        if not _is_address(reach.address):
            raise self._wrong_answer(
                "wait_ready", "an address that is neither unix:/path nor http(s)://"
            )
        return reach

    def identity(self, handle: Handle, sandbox_id: str, generation: int) -> None:
        """Check that the runtime that answered is the sandbox's."""
        if (sandbox_id, generation) != (handle.sandbox_id, handle.generation):
            raise self._wrong_answer("wait_ready", "the address of another sandbox or generation")

    def report(self, answer: object) -> CleanupReport:
        """Return the report of a teardown."""
        report = self._check_kind("teardown", answer, CleanupReport)
        return CleanupReport(_sentences(report.removed), _sentences(report.leftovers))

    def survey(self, answer: object) -> list[Handle]:
        """Return the handles of running sandboxes."""
        if not isinstance(answer, list | tuple) or len(answer) > MAX_SURVEYED:
            raise self._wrong_answer("survey", f"no list of at most {MAX_SURVEYED} handles")
        return [self._handle("survey", one) for one in answer]

    def end(self, answer: object) -> Ended:
        """Return an end."""
        end = self._check_kind("ended", answer, Ended)
        if not isinstance(end.sandbox_id, str) or not isinstance(end.generation, int):
            raise self._wrong_answer("ended", "no sandbox and generation")
        return replace(end, reason=str(end.reason)[:MAX_SENTENCE])

    def reason(self, answer: object) -> str | None:
        """Return the reason of an end."""
        return None if answer is None else self._check_kind("why_ended", answer, str)[:MAX_SENTENCE]

    def kept_disk(self, answer: object) -> KeptDisk:
        """Return what was kept of a disk."""
        disk = self._check_kind("keep_snapshot", answer, KeptDisk)
        if not isinstance(disk.size, int) or not isinstance(disk.still_ms, int):
            raise self._wrong_answer("keep_snapshot", "a size or a time that is no whole number")
        return disk

    def flag(self, answer: object) -> bool:
        """Return whether a snapshot was there."""
        return self._check_kind("drop_snapshot", answer, bool)

    def capabilities(self, answer: object) -> Capabilities:
        """Return its capabilities."""
        return self._check_kind("capabilities", answer, Capabilities)

    def _handle(self, verb: str, answer: object) -> Handle:
        handle = self._check_kind(verb, answer, Handle)
        if handle.extension != self._name:
            raise self._wrong_answer(verb, f"a handle of {str(handle.extension)[:80]!r}")
        if not isinstance(handle.sandbox_id, str) or not isinstance(handle.generation, int):
            raise self._wrong_answer(verb, "a handle without sandbox and generation")
        if not _is_data(handle.data):
            raise self._wrong_answer(verb, "a handle whose data are not short pairs of texts")
        return handle

    def _check_kind(self, verb: str, answer: object, kind: type[T]) -> T:
        if not isinstance(answer, kind):
            kind_given = "nothing" if answer is None else type(answer).__name__
            raise self._wrong_answer(verb, f"{kind_given} where {kind.__name__} is due")
        return answer

    def _wrong_answer(self, verb: str, what: str) -> Failed:
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


def _sentences(answers: Iterable[object]) -> tuple[str, ...]:
    return tuple(str(one)[:MAX_SENTENCE] for one in tuple(answers)[:MAX_SENTENCES])
