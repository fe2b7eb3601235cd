"""Branch names: the allowed ones, and the default.

The rules are git-check-ref-format(1) with `--branch`, a length limit, and no character that does
not print. Pure text; the repository knows whether a branch exists.
"""

import re
from datetime import datetime

from atoll.domain.errors import Invalid

MAX_BRANCH_BYTES = 200

_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")


def read_branch(text: str, *, field: str = "branch") -> str:
    """Return `text` if it may name a branch; raises `Invalid` with the rule it breaks."""
    why = _broken_rule(text)
    if why is not None:
        raise Invalid(f"{text[:80]!r} cannot name a branch: {why}.", field=field)
    return text


def _broken_rule(text: str) -> str | None:
    if not text.isprintable() or _FORBIDDEN.search(text):
        return "it holds a space, a control character, `..`, `//`, `@{` or one of ~ ^ : ? * [ \\"
    if not text or len(text.encode()) > MAX_BRANCH_BYTES:
        return f"it is empty or longer than {MAX_BRANCH_BYTES} bytes"
    if text.startswith(("-", "/")) or text.endswith(("/", ".")) or text in ("@", "HEAD"):
        return "it starts with - or /, ends with / or ., or is a name git keeps for itself"
    if any(part.startswith(".") or part.endswith(".lock") for part in text.split("/")):
        return "a part of it starts with . or ends with .lock"
    return None


def branch_of_ref(ref: str) -> str | None:
    """Return the branch of a full ref (`refs/heads/x` → `x`), None for any other or forbidden
    ref."""
    name = ref.removeprefix("refs/heads/")
    return name if name != ref and _broken_rule(name) is None else None


def default_branch(now: datetime) -> str:
    """Return the default branch of a sandbox: `sandbox-20240115-1430`."""
    return now.strftime("sandbox-%Y%m%d-%H%M")
