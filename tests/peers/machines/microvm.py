"""Machines of `ext.microvm` for tests: an image that `atoll vm build` made once, in any home."""

import os
from pathlib import Path

from atoll.adapters.extensions.microvm.backend import MicrovmBackend
from atoll.adapters.extensions.microvm.entry import microvm_backend
from atoll.adapters.extensions.microvm.image import find_image, images
from atoll.adapters.extensions.microvm.qemu import find_qemu
from atoll.domain.errors import AtollError
from atoll.ports.extension import ExtensionSetup

BUILT = "ATOLL_TEST_VM_HOME"
"""The home whose image the tests use."""


def built() -> Path:
    """Return the home that has an image."""
    return Path(os.environ.get(BUILT, "/var/cache/atoll-test-vm"))


def missing() -> str:
    """Return what is not here; empty where machines can be booted."""
    try:
        find_qemu()
        find_image(built())
    except AtollError as error:
        return f"{error.message} (with --home {built()})"
    return ""


def home_with_image(home: Path) -> None:
    """Show the built image in another home."""
    images(home).symlink_to(images(built()))


def machines(home: Path) -> MicrovmBackend:
    """Return the machines of a home."""
    return microvm_backend(ExtensionSetup(home, "atoll-test"))
