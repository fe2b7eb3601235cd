"""The extensions of a home that the last start left out, as the control plane wrote them down.

Nothing of another project's is imported here: `atoll doctor` may be run by root.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from atoll.adapters.apart.choice import DISABLED, UNLOADED
from atoll.ports.extension import Unloaded
from atoll.ports.host import Finding

MAX_BYTES = 64 * 1024
_FIX = "`pip install` it again or mend it, then restart; `atoll extension check NAME` tries it."


def findings(home: Path) -> Iterator[Finding]:
    """Report each extension that is not there, once."""
    try:
        with (home / UNLOADED).open("rb") as file:
            found = msgspec.json.decode(file.read(MAX_BYTES), type=list[Unloaded])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return
    for name, one in {one.name: one for one in found}.items():
        text = f"left out: {one.reason}"[:500]
        if one.package:
            text += f" ({one.package})"
        if one.reason.startswith(DISABLED):
            yield Finding(name[:80], "ok", text)
        else:
            yield Finding(name[:80], "warn", text, _FIX)
