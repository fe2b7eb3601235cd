"""The `atoll` console script: the command line, handed what touches this machine.

Only here do the commands meet `wiring.host`, and only when one of them asks.
"""

import os
import signal
import sys

# While programs load, and at the end, an interrupt ends this process without a traceback. Where it
# is ignored (behind `&` in a script), it stays ignored.
_INTERRUPTS = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _INTERRUPTS:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from typing import TYPE_CHECKING  # noqa: E402

from atoll.surfaces.cli.dispatch.quick import quick  # noqa: E402
from atoll.surfaces.cli.entry import run  # noqa: E402

if TYPE_CHECKING:
    from atoll.ports.host import Host


def main() -> None:
    """Run the command of `sys.argv` and exit with its code (`docs/use/commands.md`)."""
    words = sys.argv[1:]
    if quick(words) is None:
        # A quick command waits for nothing by asyncio, which takes long to load.
        from atoll.wiring.timeouts import mend_timeouts

        mend_timeouts()
    if _INTERRUPTS:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code = run(words, os.environ, _host)
    if _INTERRUPTS:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if quick(words) is not None:
        # Every line was flushed as it was written, and nothing waits for the end: the interpreter
        # would take a tenth of the whole time to take itself apart.
        os._exit(code)
    sys.exit(code)


def _host() -> "Host":
    # Loaded late: the launcher brings in what only `up`, `down` and `doctor` need.
    from atoll.wiring.host import LocalHost

    return LocalHost()


if __name__ == "__main__":
    main()
