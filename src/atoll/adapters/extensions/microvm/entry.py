"""The entry point of `ext.microvm`, which `ext.vm-packer` is another name of."""

from atoll.adapters.extensions.microvm.backend import MicrovmBackend
from atoll.adapters.extensions.microvm.disks import Disks
from atoll.adapters.extensions.microvm.programs import GuestPrograms
from atoll.adapters.linked.extension import LinkedExtension, LinkedSettings
from atoll.adapters.linked.machine import programs_of
from atoll.ports.extension import ExtensionSetup


def make(setup: ExtensionSetup) -> LinkedExtension:
    """Make the extension of a home."""
    return LinkedExtension(
        LinkedSettings(setup.home, broker=setup.upstreams, agents=setup.agents),
        microvm_backend(setup),
    )


def microvm_backend(setup: ExtensionSetup) -> MicrovmBackend:
    """Return the machines of a home."""
    return MicrovmBackend(
        setup.home,
        GuestPrograms(programs_of(setup.home), setup.home / "vm-programs"),
        Disks(setup.home / "vm-disks"),
        setup.machines_fd,
    )
