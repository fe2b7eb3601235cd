"""The extensions of a home that do not work, as the control plane wrote them down.

Nothing of another project's is imported here: `atoll doctor` may be run by root.
"""

from collections.abc import Iterator
from pathlib import Path

from atoll.adapters.apart.choice import DISABLED, read_troubles
from atoll.ports.host import Finding

_FIX = "`pip install` it again or mend it, then restart; `atoll extension check NAME` tries it."


def findings(home: Path) -> Iterator[Finding]:
    """Report each extension that is not there or does not work, once."""
    broken = read_troubles(home)
    for name, one in {one.name: one for one in broken.left_out}.items():
        text = f"left out: {one.reason}"[:500]
        if one.package:
            text += f" ({one.package})"
        if one.reason.startswith(DISABLED):
            yield Finding(name[:80], "ok", text)
        else:
            yield Finding(name[:80], "warn", text, _FIX)
    for name, trouble in broken.troubles.items():
        yield Finding(name[:80], "warn", f"in trouble: {trouble}"[:500], _FIX)
