"""The command line: init, or by its first word a tool that works on a tree of files."""

import os
import sys

USAGE, REFUSED = 64, 65
OPTIONS = (
    "--control-fd",
    "--connect",
    "--door",
    "--root",
    "--nproc",
    "--files",
    "--netlink",
    "--datagrams",
    "--objects",
    "--filters",
)


def main() -> None:
    """Run what the arguments request; end the process with the same codes as the C one."""
    words = sys.argv[1:]
    if len(words) > 1 and words[0] == "ask":
        from .asking import ask

        sys.exit(ask(words[1], words[2:]))
    if words and words[0] == "mcp":
        from .tool_door import tools

        sys.exit(tools(words[1:]))
    options: dict[str, list[str]] = {"--root": ["/workspace"]}
    while len(words) > 1 and words[0] in OPTIONS:
        if words[0] == "--root":
            options["--root"] = []
        options.setdefault(words[0], []).append(words[1])
        words = words[2:]
    ways = [each for each in ("--control-fd", "--connect") if each in options]
    if len(ways) == 1 and not words:
        from .loop import be_init

        be_init(options)
    if ways or not words:
        sys.exit(USAGE)
    os.chdir(options["--root"][0])
    sys.exit(_tool([os.fsencode(word) for word in words]))


def _tool(words: list[bytes]) -> int:
    # Loaded only here: init must not carry what the tools need.
    from .places import Denied
    from .tools import run

    try:
        code = run(words)
        sys.stdout.flush()
    except Denied as denied:
        print(f"0 {denied.why}", file=sys.stderr)
        return denied.code
    except BrokenPipeError:
        os._exit(REFUSED)
    except OSError as error:
        number = error.errno or 0
        print(f"{number} {words[0].decode()}: {os.strerror(number)}", file=sys.stderr)
        return REFUSED
    return code
