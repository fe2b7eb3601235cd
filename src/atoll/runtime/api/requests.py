"""Reading requests: bodies, queries and process settings, each with an error that names the field.

Limits stand here; what the values mean is decided elsewhere.
"""

import re
import signal
from typing import TypeVar

import msgspec
from aiohttp import web

from atoll.domain.errors import Invalid
from atoll.wire.http.unreadable import UNREADABLE

T = TypeVar("T")

MAX_JSON_BYTES = 16 * 1024 * 1024
MAX_ARGUMENTS = 4096
MAX_ARGUMENT_BYTES = 128 * 1024
MAX_VARIABLES = 1024
MAX_PROMPT = 256 * 1024
MAX_TOTAL_BYTES = 1024 * 1024
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_AT = re.compile(r" - at `\$\.?([^`]*)`")
_UNKNOWN = re.compile(r"unknown field `([^`]*)`")

SIGNALS = {
    name: signal.Signals[f"SIG{name}"]
    for name in ("INT", "QUIT", "TERM", "HUP", "KILL", "STOP", "CONT", "USR1", "USR2")
}


async def read_json(request: web.Request, kind: type[T]) -> T:
    """Return the body as `kind`. Raises `Invalid` with the field, 413 when it is too large."""
    raw = await request.read()
    try:
        return msgspec.json.decode(raw or b"{}", type=kind)
    except UNREADABLE as error:
        text = str(error)
        match = _AT.search(text) or _UNKNOWN.search(text)
        raise Invalid(
            f"the body is not what {request.method} {request.path} takes: {_AT.sub('', text)}",
            field=match[1] if match else None,
        ) from error


def answer(value: object, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """Return a value as JSON."""
    return web.Response(
        status=status,
        body=msgspec.json.encode(value),
        content_type="application/json",
        headers=headers,
    )


def query_integer(request: web.Request, name: str, default: int, *, most: int = 2**62) -> int:
    """Return a whole number from the query, 0 to `most`."""
    text = request.query.get(name)
    if text is None or text == "":
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= most):
        raise Invalid(f"{name} must be a whole number from 0 to {most}", field=name)
    return int(text)


def query_flag(request: web.Request, name: str) -> bool:
    """Return True for `true` or `1` in the query; absent is false."""
    text = request.query.get(name, "false").lower()
    if text not in ("true", "false", "1", "0"):
        raise Invalid(f"{name} must be true or false", field=name)
    return text in ("true", "1")


def signal_number(name: str) -> signal.Signals:
    """Return a signal by name. Raises `Invalid` listing what is allowed."""
    number = SIGNALS.get(name.upper().removeprefix("SIG"))
    if number is None:
        raise Invalid(f"signal must be one of {', '.join(SIGNALS)}", field="signal")
    return number


def check_argv(argv: list[str]) -> tuple[str, ...]:
    """Return an argv that exec can take."""
    if not argv or not argv[0]:
        raise Invalid("argv must name a program", field="argv")
    if len(argv) > MAX_ARGUMENTS:
        raise Invalid(f"argv may have {MAX_ARGUMENTS} entries, not {len(argv)}", field="argv")
    _check_text(argv, "argv")
    return tuple(argv)


def check_cwd(cwd: str) -> str:
    """Return an absolute directory inside."""
    _check_text([cwd], "cwd")
    if not cwd.startswith("/"):
        raise Invalid("cwd must be an absolute path inside the sandbox", field="cwd")
    return cwd


def check_prompt(words: str) -> str:
    """Return a prompt that is not blank."""
    if not words.strip() or len(words) > MAX_PROMPT or "\0" in words:
        raise Invalid(f"a prompt is 1 to {MAX_PROMPT} characters without NUL", field="prompt")
    return words


def check_env(env: dict[str, str]) -> dict[str, str]:
    """Return variables whose names a shell would take."""
    if len(env) > MAX_VARIABLES:
        raise Invalid(f"env may have {MAX_VARIABLES} entries, not {len(env)}", field="env")
    for name in env:
        if len(name) > 256 or not _VARIABLE.fullmatch(name):
            raise Invalid(
                "env names are letters, digits and _, and start with none of the digits",
                field="env",
            )
    _check_text(list(env.values()), "env")
    return env


def _check_text(values: list[str], field: str) -> None:
    """Reject NUL, characters that cannot be encoded, and more than exec takes."""
    total = 0
    for value in values:
        try:
            size = len(value.encode("utf-8"))
        except UnicodeEncodeError as error:
            raise Invalid(f"{field} holds half a surrogate pair", field=field) from error
        total += size
        if "\0" in value or size > MAX_ARGUMENT_BYTES:
            raise Invalid(
                f"{field} may hold no NUL and nothing over {MAX_ARGUMENT_BYTES} bytes", field=field
            )
    if total > MAX_TOTAL_BYTES:
        raise Invalid(f"{field} is over {MAX_TOTAL_BYTES} bytes in all", field=field)
