"""Programs that run inside, for this machine, and for the other architecture in an emulator.

The emulator (qemu-user of Debian 12) has no openat2, so init's tools for files do not run in it.
"""

import platform
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from atoll.domain.errors import Failed
from atoll.inside.program import ARCHITECTURES, init_binary, link_binary


def own_init() -> tuple[str, ...]:
    """Return the words that run this machine's init."""
    return (str(init_binary()),)


def own_link() -> tuple[str, ...]:
    """Return the words that run this machine's link."""
    return (str(link_binary()),)


def every_init() -> list[ParameterSet]:
    """Return parameters: the words that run the init of each architecture."""
    return [_parameter(init_binary, name) for name in ARCHITECTURES]


def every_link() -> list[ParameterSet]:
    """Return parameters: the words that run the link of each architecture."""
    return [_parameter(link_binary, name) for name in ARCHITECTURES]


def _parameter(binary: Callable[[str], Path], architecture: str) -> ParameterSet:
    emulator = shutil.which(f"qemu-{architecture}-static")
    try:
        program = str(binary(architecture))
    except Failed as error:
        return pytest.param((), id=architecture, marks=pytest.mark.skip(reason=error.message))
    if architecture == platform.machine():
        return pytest.param((program,), id=architecture)
    if emulator is None:
        reason = f"qemu-{architecture}-static is not installed"
        return pytest.param((), id=architecture, marks=pytest.mark.skip(reason=reason))
    return pytest.param((emulator, program), id=architecture)
