"""The `atoll` console script: the command line, handed what touches this machine.

Only here do the commands meet `wiring.host`, and only when one of them asks.
"""

import os
import sys
from typing import TYPE_CHECKING

from atoll.surfaces.cli.entry import run

if TYPE_CHECKING:
    from atoll.ports.host import Host


def main() -> None:
    """Run the command of `sys.argv` and exit with its code (`docs/use/commands.md`)."""
    sys.exit(run(sys.argv[1:], os.environ, _host))


def _host() -> "Host":
    # Loaded late: the launcher brings in what only `up`, `down` and `doctor` need.
    from atoll.wiring.host import LocalHost

    return LocalHost()


if __name__ == "__main__":
    main()
