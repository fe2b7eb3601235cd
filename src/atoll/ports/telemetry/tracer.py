"""The Tracer port: spans of a trace, of this process and of runtimes."""

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from enum import StrEnum
from typing import Protocol

from atoll.wire.contract.correlation import SpanRecord, TraceParent


class SpanKind(StrEnum):
    """The side of a call that a span shows."""

    SERVER = "server"
    INTERNAL = "internal"


class Span(Protocol):
    """An act under way, as a part of a trace. Attributes are names and numbers of Atoll's own:
    never a command, an argument, a path of a file, or a secret."""

    def note(self, name: str, value: str | int) -> None:
        """Set an attribute."""
        ...

    def rename(self, name: str) -> None:
        """Set the name, where it is known only now."""
        ...

    def fail(self, code: str) -> None:
        """Mark the act as failed, with a stable code and no text."""
        ...

    def end(self) -> None:
        """End it before its context is left; what follows changes nothing."""
        ...


class Tracer(Protocol):
    """Spans of this process, and those that runtimes hand out."""

    def span(
        self, name: str, *, kind: SpanKind = SpanKind.INTERNAL, parent: TraceParent | None = None
    ) -> AbstractContextManager[Span]:
        """Open a span for the length of a context. Without `parent` it belongs to the span around
        it, also in a task that was started there. An error that leaves the context marks it as
        failed."""
        ...

    def record(self, spans: Iterable[SpanRecord]) -> None:
        """Take in finished spans of a runtime."""
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """Send spans while the context lasts, and the last of them at its end, within seconds."""
        ...
