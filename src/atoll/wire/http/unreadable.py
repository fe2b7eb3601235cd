"""All that reading somebody else's JSON can raise, as one tuple for `except`.

A decoder has three ways to fail, and who forgets one of them lets a stranger's bytes end a task:
words that are not JSON or not of the expected shape, text that is not UTF-8 (only looked at where
it is kept), and nesting deeper than the stack.
"""

import msgspec

UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
