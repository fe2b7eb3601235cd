"""The fields of a profile that nothing on the zygote's machine would keep, by its report.

A sandbox that names none of them is placed all the same, and says what it lacks (`degraded`).
"""

from collections.abc import Iterator
from typing import Final

from atoll.domain.profile.demands import CPU, DISK, MEMORY, ROOT, SUDO
from atoll.wire.zygote.messages import Reported

LIMITS: Final = {"memory": MEMORY, "cpu": CPU, "disk": DISK}
"""The fields of the limits that a report calls `degraded`, by their word there."""

NO_OVERLAY: Final = "this kernel gives no overlay to an unprivileged user"


def unkept_limits(report: Reported) -> Iterator[tuple[str, str]]:
    """Yield each limit that cannot be set there, and why."""
    for sentence in report.degraded:
        limit, _, why = sentence.partition(": ")
        if limit in LIMITS:
            yield LIMITS[limit], why


def unkept_fields(report: Reported) -> Iterator[tuple[str, str]]:
    """Yield each field that the wall of namespaces cannot act on there, and why."""
    yield from unkept_limits(report)
    if not report.root:
        yield SUDO, "Atoll runs without root, and so has no second user namespace to give"
    elif report.init != "c":
        yield SUDO, "it needs Atoll's compiled init"
    if not report.overlays:
        yield ROOT, NO_OVERLAY
