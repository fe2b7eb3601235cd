"""The entry points of `ext.daytona` and of `ext.daytona-self`, a Daytona of one's own."""

from dataclasses import replace

from atoll.adapters.extensions.daytona.settings import DaytonaSettings
from atoll.adapters.linked.extension import LinkedExtension
from atoll.adapters.linked.machine import programs_of
from atoll.adapters.rented.entry import Wares, rented_extension, settings_of
from atoll.adapters.rented.vendor import Vendor
from atoll.ports.extension import ExtensionSetup
from atoll.wire.words.walls import IsolationLevel

NAME = "ext.daytona"
SELF = "ext.daytona-self"
NO_ADDRESS = (
    "ext.daytona-self needs the address of a Daytona: the setting `api_url` of the table "
    "`daytona_self`"
)


def make(setup: ExtensionSetup) -> LinkedExtension:
    """Make the extension of a home. Raises `Invalid` for a setting that is wrong."""
    settings = settings_of(setup, NAME, DaytonaSettings)
    return rented_extension(setup, wares_of(settings, NAME), _vendor(setup, settings, NAME))


def make_self(setup: ExtensionSetup) -> LinkedExtension:
    """Make the extension of a Daytona of one's own. Raises `Invalid` for a setting that is wrong;
    without an address the extension says so."""
    settings = settings_of(setup, SELF, DaytonaSettings)
    wares = wares_of(settings, SELF)
    if settings.api_url is None:
        return rented_extension(setup, replace(wares, missing=NO_ADDRESS), None)
    return rented_extension(setup, wares, _vendor(setup, settings, SELF))


def wares_of(settings: DaytonaSettings, name: str) -> Wares:
    """Return the wares of a Daytona: containers, whose network is closed at their create."""
    return Wares(
        name=name,
        title="Daytona",
        isolation=IsolationLevel.CONTAINER,
        mechanism="Daytona and bubblewrap",
        default="",
        region=settings.target or name.removeprefix("ext."),
        templates=settings.templates,
        cost_per_hour=settings.cost_per_hour,
        extra="daytona",
    )


def _vendor(setup: ExtensionSetup, settings: DaytonaSettings, name: str) -> Vendor | None:
    """Return the vendor; None without its library, which takes long to load."""
    try:
        from atoll.adapters.extensions.daytona.vendor import DaytonaVendor
    except ImportError:
        return None
    return DaytonaVendor(settings, programs_of(setup.home), name)
