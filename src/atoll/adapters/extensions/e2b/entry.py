"""The entry point of `ext.e2b`."""

from atoll.adapters.extensions.e2b.settings import E2bSettings
from atoll.adapters.linked.extension import LinkedExtension
from atoll.adapters.rented.entry import Wares, rented_extension, settings_of
from atoll.adapters.rented.vendor import Vendor
from atoll.ports.extension import ExtensionSetup
from atoll.wire.words.walls import IsolationLevel

NAME = "ext.e2b"
DEFAULT_TEMPLATE = "base"


def make(setup: ExtensionSetup) -> LinkedExtension:
    """Make the extension of a home. Raises `Invalid` for a setting that is wrong."""
    settings = settings_of(setup, NAME, E2bSettings)
    return rented_extension(setup, wares_of(settings), _vendor(settings))


def wares_of(settings: E2bSettings) -> Wares:
    """Return the wares of E2B: machines of Firecracker, whose network is closed at their create."""
    return Wares(
        name=NAME,
        title="E2B",
        isolation=IsolationLevel.MICROVM,
        mechanism="E2B and bubblewrap",
        default=DEFAULT_TEMPLATE,
        region="e2b",
        templates=settings.templates,
        cost_per_hour=settings.cost_per_hour,
    )


def _vendor(settings: E2bSettings) -> Vendor | None:
    """Return the vendor; None without its library, which takes long to load."""
    try:
        from atoll.adapters.extensions.e2b.vendor import E2bVendor
    except ImportError:
        return None
    return E2bVendor(settings)
