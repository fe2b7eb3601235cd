"""Every error of reading untrusted JSON, as one tuple for `except`.

A decoder fails in three ways, and each that is not caught lets a third party's bytes end a task.
The text is not JSON or not of the expected shape; it is not UTF-8 (checked only where text is
kept); or it nests deeper than the stack.
"""

import msgspec

UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
