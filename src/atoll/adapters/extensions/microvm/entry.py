"""The entry point of `ext.microvm`, which `ext.vm-packer` is another name of."""

from atoll.adapters.extensions.microvm.backend import MicrovmBackend
from atoll.adapters.extensions.microvm.disks import Disks
from atoll.adapters.extensions.microvm.programs import GuestPrograms
from atoll.adapters.linked.extension import LinkedExtension, LinkedSettings
from atoll.ports.extension import ExtensionSetup


def make(setup: ExtensionSetup) -> LinkedExtension:
    """Make the extension of a home."""
    return LinkedExtension(
        LinkedSettings(setup.home, broker=setup.upstreams, agents=setup.agents),
        microvm_backend(setup),
    )


def microvm_backend(setup: ExtensionSetup) -> MicrovmBackend:
    """Return the machines of a home."""
    archive = setup.home / "run" / "bin" / "far.tar"
    return MicrovmBackend(
        setup.home,
        GuestPrograms(archive, setup.home / "vm-programs"),
        Disks(setup.home / "vm-disks"),
    )
