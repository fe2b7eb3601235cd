"""The zygote's entry point: `python -m atoll.wiring.zygote --home H [--ready-fd N]`.

It loads the runtime that its children become and nothing of the control plane. It logs to stderr.
`atoll up` starts it in a prepared home; with `--foreground` it prepares the home itself, for a
container whose first process it is.
"""

import argparse
import contextlib
import os
import sys
from functools import partial
from pathlib import Path

from atoll.domain.errors import AtollError
from atoll.wiring.launch import mount_view
from atoll.wiring.launch.home_setup import prepare_home
from atoll.wiring.runtime import become, lay
from atoll.wiring.timeouts import mend_timeouts
from atoll.wiring.warm import warm_up
from atoll.zygote.daemon.program import run
from atoll.zygote.host import kernel
from atoll.zygote.host.home import Home
from atoll.zygote.host.title import set_title
from atoll.zygote.wall import cgroups


def main() -> int:
    """Run until SIGTERM. Returns 1, with the reason on stderr, when the zygote cannot start."""
    kernel.forbid_cores()
    mend_timeouts()
    parser = argparse.ArgumentParser(prog="atoll-zygote")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--ready-fd", type=int, default=None)
    parser.add_argument("--starter-fd", type=int, default=None)
    parser.add_argument("--machine-fd", type=int, default=None)
    parser.add_argument("--foreground", action="store_true")
    arguments = parser.parse_args()
    for fd in (arguments.machine_fd, arguments.starter_fd):
        if fd is not None:
            os.set_inheritable(fd, False)
    set_title("zygote", str(arguments.home))

    def report_ready() -> None:
        if arguments.ready_fd is not None:
            # A starter that was killed meanwhile reads no more; its link ends us in order.
            with contextlib.suppress(BrokenPipeError):
                os.write(arguments.ready_fd, b"ready")
            os.close(arguments.ready_fd)

    try:
        if arguments.foreground:
            _prepare(arguments.home)
        warm_up()
        run(
            arguments.home,
            partial(become, laid=lay()),
            ready=report_ready,
            machine=arguments.machine_fd,
            starter=arguments.starter_fd,
        )
    except (AtollError, OSError) as err:
        print(f"atoll: the zygote cannot run: {err}", file=sys.stderr)
        cgroups.remove_own_groups(Home(arguments.home.resolve()).tag)
        return 1
    return 0


def _prepare(root: Path) -> None:
    """Do what `atoll up` does before it starts a zygote. Raises `AtollError`, `OSError`."""
    home = Home(root.resolve())
    prepare_home(home.root)
    if os.geteuid() == 0:
        mount_view.enter(home.root)
    cgroups.join_own_group(home.tag)


if __name__ == "__main__":
    sys.exit(main())
