"""The entry point of `ext.e2b`."""

from pathlib import Path
from platform import machine

import msgspec

from atoll.adapters.extensions.e2b.settings import E2bSettings
from atoll.adapters.linked.extension import LinkedExtension, LinkedSettings
from atoll.adapters.rented.backend import Offer, RentedBackend, usual_templates
from atoll.adapters.rented.machines import Rentals
from atoll.adapters.rented.records import Records
from atoll.adapters.rented.vendor import Vendor
from atoll.domain.errors import Invalid
from atoll.domain.host.host import HourlyCost
from atoll.domain.route.candidate import ImageKind
from atoll.domain.sandbox.image import HOST
from atoll.domain.wall.isolation import IsolationLevel
from atoll.ports.extension import Capabilities, ExtensionSetup

NAME = "ext.e2b"
DEFAULT_TEMPLATE = "base"
MISSING = "ext.e2b needs the library of E2B: pip install 'atoll[e2b]'"
MICROS = 1_000_000


def make(setup: ExtensionSetup) -> LinkedExtension:
    """Make the extension of a home. Raises `Invalid` for a setting that is wrong."""
    try:
        settings = msgspec.convert(setup.options.get("e2b") or {}, E2bSettings)
    except msgspec.ValidationError as error:
        raise Invalid(f"a setting of ext.e2b is wrong: {error}", field="e2b") from error
    vendor = _vendor(settings)
    records = Records(setup.home / "rented" / "e2b")
    rentals = None if vendor is None else Rentals(NAME, vendor, setup.tag, records, setup.keys)
    backend = RentedBackend(NAME, offer_of(settings, setup.home), rentals, MISSING)
    return LinkedExtension(
        LinkedSettings(setup.home, broker=setup.upstreams, agents=setup.agents), backend
    )


def offer_of(settings: E2bSettings, home: Path) -> Offer:
    """Return what E2B gives: machines of Firecracker, whose network is closed at their create."""
    price = settings.cost_per_hour
    images = {ImageKind.HOST} if settings.templates.keys() <= {HOST} else set(ImageKind)
    return Offer(
        capabilities=Capabilities(
            isolation=IsolationLevel.MICROVM,
            regions=("e2b",),
            host_kind=None,
            pricing="per-second",
            cost_per_hour=None if price is None else HourlyCost(round(price * MICROS)),
            images=frozenset(images),
            needs_key=True,
        ),
        templates=usual_templates(settings.templates, DEFAULT_TEMPLATE),
        mechanism="E2B and bubblewrap",
        programs=home / "run" / "bin" / "far.tar",
        kind=machine(),
    )


def _vendor(settings: E2bSettings) -> Vendor | None:
    """Return the vendor; None without its library, which takes long to load."""
    try:
        from atoll.adapters.extensions.e2b.vendor import E2bVendor
    except ImportError:
        return None
    return E2bVendor(settings)
