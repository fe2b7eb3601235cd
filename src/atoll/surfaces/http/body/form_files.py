"""Files of a form (`multipart/form-data`) as they arrive from a browser's FormData or `curl -F`.

No file is held here: each is forwarded to the sandbox while the client still sends it.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from atoll.domain.errors import Invalid, Unavailable
from atoll.wire.http.multipart import BadMultipart, Event, Multipart, PartBegan, read_boundary

_SEPARATORS: Final = re.compile(r"[/\\]")

Store = Callable[[str, AsyncIterator[bytes]], Awaitable[None]]
"""A function that stores one file: its name, without any directory, and its bytes."""


def form_boundary(content_type: str) -> bytes | None:
    """Return the boundary when the body is a form, None for any other body. Raises `Invalid`."""
    try:
        return read_boundary(content_type)
    except BadMultipart as error:
        raise _unreadable_form(error) from error


async def store_files(pieces: AsyncIterator[bytes], boundary: bytes, store: Store) -> None:
    """Store each file of a form, in order. Raises `Invalid` for a form that is malformed, ends
    early or holds no file, and whatever `store` and `pieces` raise."""
    form = _Form(pieces, boundary)
    stored = 0
    while (name := await form.next_file()) is not None:
        try:
            await store(name, form.content())
        except Unavailable as error:
            # A body that breaks off looks like a broken connection from where it was sent to.
            raise form.failure or error from error
        stored += 1
    if not stored:
        raise Invalid("the form has no file: send at least one part with a file name", field="body")


class _Form:
    """A form read part by part. `failure` is the client's error, once there was one."""

    def __init__(self, pieces: AsyncIterator[bytes], boundary: bytes) -> None:
        self._pieces = pieces
        self._form = Multipart(boundary)
        self._events: list[Event] = []
        self.failure: Exception | None = None

    async def next_file(self) -> str | None:
        """Return the name of the file that comes next, None after the last."""
        event = await self._next_event()
        while event is not None and not isinstance(event, PartBegan):
            event = await self._next_event()
        return None if event is None else _file_name(event)

    async def content(self) -> AsyncIterator[bytes]:
        """Yield the bytes of the file that was named last."""
        try:
            while isinstance(event := await self._next_event(), bytes):
                yield event
        except Exception as error:
            self.failure = error
            raise

    async def _next_event(self) -> Event | None:
        """Return the form's next event; None after the last one."""
        while not self._events:
            piece = await anext(self._pieces, None)
            if piece is None:
                if not self._form.done:
                    raise Invalid("the form broke off before its end: send it again", field="body")
                return None
            try:
                self._events = self._form.feed(piece)
            except BadMultipart as error:
                raise _unreadable_form(error) from error
        return self._events.pop(0)


def _file_name(part: PartBegan) -> str:
    if part.filename is None:
        raise Invalid(f"the form's field {part.name[:80]!r} is not a file", field="body")
    # Programs may write whole paths there (RFC 7578 §4.2): only the last name counts.
    name = _SEPARATORS.split(part.filename)[-1]
    if name in {"", ".", ".."}:
        raise Invalid(f"the form's file {part.filename[:80]!r} has no name", field="body")
    return name


def _unreadable_form(error: BadMultipart) -> Invalid:
    return Invalid(f"the form cannot be read: {error}", field="body")
