"""Past output of terminals: marks, plain text, recordings, and a search over all.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape


class Recording(Shape):
    """A recording. `state` is `recording` while it runs, then why it ended: `stopped`, `ended`
    with its terminal, `full`, or `failed` (the disk, a crash)."""

    recording_id = fields.text()
    terminal_id = fields.text()
    name = fields.text()
    state: Field[Literal["recording", "stopped", "ended", "full", "failed"]] = fields.word()
    by = fields.text()
    principal = fields.text()
    started_at = fields.text()
    ended_at = fields.text()
    seconds = fields.decimal()
    bytes = fields.number()
    commands = fields.number()
    cols = fields.number()
    rows = fields.number()


class RecordingList(Shape):
    """The sandbox's recordings, oldest first."""

    recordings = fields.many(Recording)


class Match(Shape):
    """A matching line. `line` counts from 1 where the search began; `offset` lies in a
    terminal's output, `seconds` in a recording. `at…to` is the match in `text`; `command` ran
    there, when its shell reported it."""

    terminal_id = fields.text()
    name = fields.text()
    recording_id = fields.text()
    line = fields.number()
    offset = fields.number()
    seconds = fields.decimal()
    text = fields.text()
    at = fields.number()
    to = fields.number()
    command = fields.text()


class Matches(Shape):
    """The matches; not `complete` when there were more than fit, or too much to search."""

    matches = fields.many(Match)
    complete = fields.flag()


class Mark(Shape):
    """A command. `n` counts them from 1, `seq` is the place of this revision among all changes.
    `prompt…output` are the offsets of its prompt and line, `output…end` of its output.
    `exit_code` and `seconds` are None while it runs, or when not reported. `genuine`: the
    terminal's own shell reported it."""

    seq = fields.number()
    n = fields.number()
    state: Field[Literal["running", "done"]] = fields.word()
    command = fields.text()
    cwd = fields.text()
    exit_code = fields.number()
    started_at = fields.text()
    seconds = fields.decimal()
    prompt = fields.number()
    output = fields.number()
    end = fields.number()
    genuine = fields.flag()


class MarkPage(Shape):
    """The marks changed after `since`; the next `since` is `seq`."""

    marks = fields.many(Mark)
    seq = fields.number()
    dropped = fields.number()


class Text(Shape):
    """A terminal's output as plain text. `from…to` are its offsets; `cut`: the beginning is
    lost."""

    text = fields.text()
    to = fields.number()
    cut = fields.flag()
