"""The entry point of `ext.modal`."""

from atoll.adapters.extensions.modal.settings import ModalSettings
from atoll.adapters.linked.extension import LinkedExtension
from atoll.adapters.rented.entry import Wares, rented_extension, settings_of
from atoll.adapters.rented.vendor import Vendor
from atoll.ports.extension import ExtensionSetup
from atoll.wire.words.walls import IsolationLevel

NAME = "ext.modal"
DEFAULT_TEMPLATE = "python:3.12-slim-bookworm"


def make(setup: ExtensionSetup) -> LinkedExtension:
    """Make the extension of a home. Raises `Invalid` for a setting that is wrong."""
    settings = settings_of(setup, NAME, ModalSettings)
    return rented_extension(setup, wares_of(settings), _vendor(settings))


def wares_of(settings: ModalSettings) -> Wares:
    """Return Modal's wares: containers under gVisor, whose network is closed at their create."""
    return Wares(
        name=NAME,
        title="Modal",
        isolation=IsolationLevel.CONTAINER,
        mechanism="Modal and bubblewrap",
        default=DEFAULT_TEMPLATE,
        region=settings.region or "modal",
        templates=settings.templates,
        cost_per_hour=settings.cost_per_hour,
    )


def _vendor(settings: ModalSettings) -> Vendor | None:
    """Return the vendor; None without its library, which takes long to load."""
    try:
        from atoll.adapters.extensions.modal.vendor import ModalVendor
    except ImportError:
        return None
    return ModalVendor(settings)
