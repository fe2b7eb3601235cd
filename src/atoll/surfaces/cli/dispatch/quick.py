"""The commands of every minute, started without the parser of options: `list` and plain `exec`.

A command line in its simplest form is recognized here and does what the command does; any other
goes the general way. Everything is loaded when it is needed, and a test lists what may be: click
alone takes three times as long to load as Python to start.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atoll.client.transport import Transport

Quick = Callable[[Mapping[str, str]], int]


def quick(words: Sequence[str]) -> Quick | None:
    """Return the command for these words; None where the general way must read them."""
    match words:
        case ["list" | "ls" | "ps"]:
            return lambda environ: _list(environ, as_json=False)
        case ["list" | "ls" | "ps", "--json"]:
            return lambda environ: _list(environ, as_json=True)
        case ["exec", name, "--", *argv] if _is_plain(name) and argv:
            return lambda environ: _exec(environ, name, argv)
        case ["exec", name, program, *rest] if _is_plain(name) and _is_plain(program):
            return lambda environ: _exec(environ, name, [program, *rest])
        case _:
            return None


def _is_plain(word: str) -> bool:
    """Report whether a word is no option and no beginning of an id, which may stand for one."""
    return bool(word) and not word.startswith("-") and not (word[:3] == "sb_" and len(word) < 19)


def _list(environ: Mapping[str, str], *, as_json: bool) -> int:
    from atoll.client.sandboxes import Sandboxes
    from atoll.surfaces.cli.overview.listing import show_sandboxes

    show_sandboxes(list(Sandboxes(_transport(environ)).list(archived=False)), as_json=as_json)
    return 0


def _transport(environ: Mapping[str, str]) -> "Transport":
    from atoll.client.server import find_server
    from atoll.client.transport import Transport

    return Transport(lambda: find_server(environ))


def _exec(environ: Mapping[str, str], name: str, argv: Sequence[str]) -> int:
    from atoll.client.made.execs import Exec
    from atoll.client.transport import post
    from atoll.surfaces.cli.console.following import (
        MAX_OUTPUT_BYTES,
        ExecFollower,
        end_code,
        is_stdin_piped,
    )

    transport = _transport(environ)
    feed = is_stdin_piped()
    body: dict[str, object] = {"background": True, "max_output_bytes": MAX_OUTPUT_BYTES}
    body["argv"] = list(argv)
    if not feed:
        body["stdin"] = ""
    started = transport.read(Exec, post("sandboxes", name, "exec", value=body))
    follower = ExecFollower(transport, name, started.exec_id, quiet=False)
    return end_code(follower.run(feed=feed, forget=True))
