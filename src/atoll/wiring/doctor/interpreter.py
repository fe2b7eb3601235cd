"""Known faults of the standard library in the Python that runs Atoll.

A distribution mends faults without a new version number, so each fault is looked for in the library
itself. Atoll gives a stranger's bytes to none of these functions where it can read them by hand;
what it depends on (aiohttp, Starlette, agents' own programs) may.
"""

import ipaddress
import os
import platform
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Final
from urllib.parse import urlsplit

from atoll.ports.host import Finding


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a part of the standard library: what it is, the versions that mend it first, and a
    check that is True where this interpreter still has it."""

    part: str
    name: str
    mended_in: str
    stands: Callable[[], bool]


def _reads_negative_sizes() -> bool:
    try:
        tarfile.TarInfo()._block(-1)  # type: ignore[attr-defined]
    except (tarfile.TarError, AttributeError):
        return False
    return True


FAULTS: Final = (
    Fault(
        "cookies",
        "cookies with escapes take quadratic time (CVE-2024-7592)",
        "3.11.10, 3.12.6",
        lambda: hasattr(import_module("http.cookies"), "_QuotePatt"),
    ),
    Fault(
        "tar headers",
        "headers of tar archives take quadratic time (CVE-2024-6232)",
        "3.11.10, 3.12.6",
        lambda: not hasattr(tarfile, "_header_length_prefix_re"),
    ),
    Fault(
        "tar sizes",
        "a tar archive can be read without end (CVE-2025-8194)",
        "3.11.14, 3.12.12, 3.13.6",
        _reads_negative_sizes,
    ),
    Fault(
        "tar filters",
        "a tar archive is unpacked without a filter (CVE-2007-4559)",
        "3.11.4",
        lambda: not hasattr(tarfile, "data_filter"),
    ),
    Fault(
        "addresses",
        "private addresses count as public (CVE-2024-4032)",
        "3.11.10, 3.12.4",
        lambda: ipaddress.ip_address("64:ff9b:1::1").is_global,
    ),
    Fault(
        "urls",
        "a blank before a URL hides its scheme (CVE-2023-24329)",
        "3.11.4",
        lambda: urlsplit(" https://host").scheme != "https",
    ),
    Fault(
        "paths",
        "a path ends at its first zero byte (CVE-2023-41105)",
        "3.11.5",
        lambda: "\0" not in os.path.normpath("a\0b"),
    ),
)


def findings(faults: tuple[Fault, ...] = FAULTS) -> Iterator[Finding]:
    """Report what the running Python lacks."""
    version = f"Python {platform.python_version()}"
    missing = [fault for fault in faults if fault.stands()]
    if not missing:
        yield Finding("python", "ok", f"{version} has none of the {len(faults)} known faults")
    for fault in missing:
        yield Finding(
            f"python: {fault.part}",
            "warn",
            f"{version}: {fault.name}",
            f"Take your distribution's security updates, or Python {fault.mended_in} or newer.",
        )
