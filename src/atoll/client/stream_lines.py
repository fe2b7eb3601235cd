"""Lines of streams over the API: a command's output, and what a search finds."""

import json
from binascii import a2b_base64
from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.execs import Exec
from atoll.domain.errors import Failed


class OutputLine(Shape):
    """A line of a command's output: a piece in base64 at its offset, or at last `exit`."""

    stream = fields.text()
    data = fields.text()
    offset = fields.number()
    exit = fields.one(Exec)

    @classmethod
    def parse(cls, line: bytes) -> "OutputLine":
        """Return the line of a stream. Raises `Failed` for what is no object of JSON."""
        try:
            return cls.read(json.loads(line))
        except ValueError as problem:
            raise Failed("the server sent a line of output that is no JSON") from problem

    @property
    def piece(self) -> bytes:
        """The bytes of `data`; empty for the last line."""
        return a2b_base64(self.data)


class FoundFile(Shape):
    """An event of a search: an entry whose name fits (`name`), a line of a file (`line`), or the
    end of the search, with the bound that it ended at (`reason`)."""

    type: Field[Literal["name", "line", "end"]] = fields.word()
    path = fields.text()
    line = fields.number()
    before = fields.text()
    match = fields.text()
    after = fields.text()
    reason: Field[Literal["all", "matches", "files", "bytes", "time"]] = fields.word()
    large = fields.number()
    more = fields.number()
