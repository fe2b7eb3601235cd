"""Paths as clients name them: always beneath the workspace, whoever wrote them.

Text only. A link on the way may lead outside; the kernel decides on that when init opens the path.
"""

import re
from urllib.parse import unquote

from atoll.domain.errors import Invalid
from atoll.wire.words.walls import WORKSPACE

MAX_PATH_BYTES = 4000
"""A bound below PATH_MAX (4096), with room for a temporary name beside the file."""
MAX_NAME_BYTES = 255

_NESTED = re.compile(r"(/(?!\.\.?(/|\Z))[^/\0]+)+")
"""An absolute directory other than the root, spelled plainly."""

_SEPARATORS = re.compile(r"[/\\]")


def workspace_path(text: str, *, field: str = "path") -> str:
    """Return the path relative to the workspace, `""` for the workspace itself.

    Absolute paths must lie under `/workspace`; a single trailing slash and `.` parts are dropped.
    Raises `Invalid` (`invalid_path`) for `..`, NUL, empty or over-long names, and for spellings
    that another program would read as `..`: `..\\`, `%2e%2e%2f`. Bytes that are not UTF-8 come in,
    and go out, as Python's surrogate escapes.
    """
    return _relative(_strip_workspace(text, field), field)


def named_place(text: str, home: str, *, field: str = "path") -> tuple[str, str]:
    """Return the folder in which something lies, the workspace or the `home`, and its path
    relative to that; a relative path is the workspace's. Raises `Invalid` as `named_path`."""
    root = WORKSPACE
    if text.startswith("/"):
        roots = [WORKSPACE, *([home] if _NESTED.fullmatch(home) else [])]
        above = [each for each in roots if text.startswith(each + "/")]
        if not above:
            raise _invalid(f"it must lie under {' or '.join(roots)}", field)
        root = max(above, key=len)
        text = text[len(root) + 1 :]
    path = _relative(text, field)
    if not path:
        raise _invalid(f"it must name something in {root}", field)
    return root, path


def _relative(text: str, field: str) -> str:
    """Return a relative path without needless parts. Raises `Invalid`."""
    if "\0" in text:
        raise _invalid("it holds a NUL byte", field)
    rest = text.removesuffix("/")
    names = [name for name in rest.split("/") if name != "."] if rest else []
    for name in names:
        _check(name, field)
    path = "/".join(names)
    if _size(path, field) > MAX_PATH_BYTES:
        raise _invalid(f"it is longer than {MAX_PATH_BYTES} bytes", field)
    return path


def named_path(text: str, *, field: str = "path") -> str:
    """Return the path relative to the workspace of something in it, not of the workspace itself."""
    path = workspace_path(text, field=field)
    if not path:
        raise _invalid("it must name something in the workspace", field)
    return path


def _strip_workspace(text: str, field: str) -> str:
    """Return a path relative to the workspace. Raises `Invalid` for one outside it."""
    if not text.startswith("/"):
        return text
    if text == WORKSPACE:
        return ""
    if not text.startswith(WORKSPACE + "/"):
        raise _invalid(f"an absolute path must lie under {WORKSPACE}", field)
    return text[len(WORKSPACE) + 1 :]


def _check(name: str, field: str) -> None:
    if not name:
        raise _invalid("a name in it is empty", field)
    if _size(name, field) > MAX_NAME_BYTES:
        raise _invalid(f"a name in it is longer than {MAX_NAME_BYTES} bytes", field)
    if _climbs(name):
        raise _invalid("'..' is not allowed in it", field)


def _climbs(name: str) -> bool:
    """Report whether the name is `..`, or becomes it for a reader that decodes or splits
    further."""
    while True:
        if ".." in _SEPARATORS.split(name):
            return True
        decoded = unquote(name)
        if decoded == name:
            return False
        name = decoded


def _size(text: str, field: str) -> int:
    try:
        return len(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError as error:
        raise _invalid("it holds half a surrogate pair", field) from error


def _invalid(why: str, field: str) -> Invalid:
    return Invalid(f"this path cannot be used: {why}", code="invalid_path", field=field)
