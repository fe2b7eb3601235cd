"""The entry point of `ext.openshell`."""

from pathlib import Path
from platform import machine

from atoll.adapters.extensions.openshell.settings import OpenShellSettings
from atoll.adapters.linked.extension import LinkedExtension, LinkedSettings
from atoll.adapters.linked.policy_wall import DEGRADED, PolicyWall
from atoll.adapters.rented.backend import Offer, RentedBackend
from atoll.adapters.rented.entry import MICROS, settings_of
from atoll.adapters.rented.machines import Rentals
from atoll.adapters.rented.records import Records
from atoll.adapters.rented.vendor import Vendor
from atoll.domain.host.host import HourlyCost
from atoll.domain.route.candidate import ImageKind
from atoll.domain.sandbox.image import HOST
from atoll.domain.wall.isolation import IsolationLevel
from atoll.ports.extension import Capabilities, ExtensionSetup

NAME = "ext.openshell"
MISSING = "ext.openshell needs the library of OpenShell: pip install 'atoll[openshell]'"
NO_GATEWAY = (
    "ext.openshell needs a gateway and an image: set `gateway` and `images.host` in the table "
    "`openshell` of config.toml"
)


def make(setup: ExtensionSetup) -> LinkedExtension:
    """Make the extension of a home. Raises `Invalid` for a setting that is wrong."""
    settings = settings_of(setup, NAME, OpenShellSettings)
    vendor = _vendor(settings)
    records = Records(setup.home / "rented" / "openshell")
    usable = vendor is not None and bool(settings.gateway and settings.images)
    rentals = (
        Rentals(NAME, vendor, setup.tag, records, setup.keys)
        if vendor is not None and usable
        else None
    )
    missing = MISSING if vendor is None else NO_GATEWAY
    backend = RentedBackend(NAME, offer_of(settings, setup.home), rentals, missing)
    return LinkedExtension(
        LinkedSettings(setup.home, broker=setup.upstreams, agents=setup.agents), backend
    )


def offer_of(settings: OpenShellSettings, home: Path) -> Offer:
    """Return what a gateway of OpenShell gives: sandboxes of a policy, whose network is closed."""
    price = settings.cost_per_hour
    images = {ImageKind.HOST} if settings.images.keys() <= {HOST} else set(ImageKind)
    return Offer(
        capabilities=Capabilities(
            isolation=IsolationLevel.POLICY,
            regions=(settings.region,),
            host_kind=None,
            cost_per_hour=None if price is None else HourlyCost(round(price * MICROS)),
            images=frozenset(images),
            needs_key=True,
        ),
        templates=settings.images,
        mechanism="OpenShell: Landlock, seccomp and a network namespace",
        programs=home / "run" / "bin" / "far.tar",
        kind=machine(),
        wall=PolicyWall,
        degraded=DEGRADED,
    )


def _vendor(settings: OpenShellSettings) -> Vendor | None:
    """Return the vendor; None without its library, which takes long to load."""
    try:
        from atoll.adapters.extensions.openshell.vendor import OpenShellVendor
    except ImportError:
        return None
    return OpenShellVendor(settings)
