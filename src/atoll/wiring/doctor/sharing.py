"""The sharing of one machine: sandboxes beside the control plane, told by the settings of a home.

A wall stands between them. Who runs an installation for several people may want a machine, too.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from atoll.domain.errors import AtollError
from atoll.ports.host import Finding
from atoll.wiring.control.settings import read_settings

_HERE: Final = ("namespaces", "docker")
"""The extensions of our own that place sandboxes on this machine."""

_FIX: Final = (
    "Add another machine (`atoll host add`), and keep this one free: `atoll host drain local`. "
    "See docs/run/hosts.md."
)


def findings(home: Path) -> Iterator[Finding]:
    """Report whether sandboxes run on this machine. It is a warning where several people log in:
    what breaks a wall here reaches the control plane of all of them."""
    try:
        settings = read_settings(home, os.environ, {})
    except AtollError:
        return  # said already
    here = [f"ext.{name}" for name in _HERE if name in settings.backends.extensions]
    if not here:
        yield Finding("machine sharing", "ok", "no sandbox runs beside the control plane")
        return
    text = f"sandboxes of {', '.join(here)} run on this machine, beside the control plane"
    if settings.services.auth.auth.mode == "local":
        yield Finding("machine sharing", "ok", text)
    else:
        yield Finding("machine sharing", "warn", f"{text} of several people", _FIX)
