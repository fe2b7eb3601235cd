"""The extension of a vendor of machines, from the setup of a home, the same for all vendors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from platform import machine
from typing import TypeVar

import msgspec

from atoll.adapters.linked.extension import LinkedExtension, LinkedSettings
from atoll.adapters.linked.machine import Machine, programs_of
from atoll.adapters.linked.wall import FarWall
from atoll.adapters.rented.backend import Offer, RentedBackend, usual_templates
from atoll.adapters.rented.machines import Rentals
from atoll.adapters.rented.records import Records
from atoll.adapters.rented.vendor import Vendor
from atoll.domain.errors import Invalid
from atoll.domain.hosts.host import HourlyCost
from atoll.domain.profile.demands import CPU, DISK, MEMORY, PIDS
from atoll.domain.routes.candidate import image_kind
from atoll.ports.extension import Capabilities, ExtensionSetup
from atoll.wire.words.walls import IsolationLevel

MICROS = 1_000_000
_SIZED = "its machines have the size of their template"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Wares:
    """A vendor's machines as an adapter declares them. `mechanism` is what separates machines
    there, `default` the template of `host` (None: it must be named), `region` a word for where they
    are. `wall`, `degraded` and `setting` are those of `rented.backend.Offer`."""

    name: str
    title: str
    isolation: IsolationLevel
    mechanism: str
    default: str | None
    region: str
    templates: Mapping[str, str]
    cost_per_hour: float | None
    missing: str = ""
    """Why there is no vendor; else its library is not installed."""
    extra: str = ""
    """The extra that brings its library, where it is not named as the table."""
    pricing: str = "per-second"
    wall: Callable[[Machine], FarWall] = FarWall
    degraded: tuple[str, ...] = ()
    setting: str = "templates"
    ignores: tuple[tuple[str, str], ...] = tuple((one, _SIZED) for one in (CPU, MEMORY, PIDS, DISK))

    @property
    def table(self) -> str:
        """The name of its settings."""
        return table_of(self.name)


def table_of(name: str) -> str:
    """Return the name of an extension's table in `config.toml`."""
    return name.removeprefix("ext.").replace("-", "_")


def settings_of(setup: ExtensionSetup, name: str, kind: type[_T]) -> _T:
    """Return the settings of an extension. Raises `Invalid` for one that is wrong."""
    table = table_of(name)
    try:
        return msgspec.convert(setup.options.get(table) or {}, kind)
    except msgspec.ValidationError as error:
        raise Invalid(f"a setting of {name} is wrong: {error}", field=table) from error


def rented_extension(setup: ExtensionSetup, wares: Wares, vendor: Vendor | None) -> LinkedExtension:
    """Make the extension; without a vendor it says why there is none."""
    records = Records(setup.home / "rented" / wares.table)
    rentals = None
    if vendor is not None:
        rentals = Rentals(wares.name, vendor, setup.tag, records, setup.keys, setup.installation)
    extra = wares.extra or wares.table
    missing = f"{wares.name} needs the library of {wares.title}: pip install 'atoll[{extra}]'"
    templates = usual_templates(wares.templates, wares.default)
    offer = Offer(
        capabilities=_capabilities(wares, templates),
        templates=templates,
        mechanism=wares.mechanism,
        programs=programs_of(setup.home),
        kind=machine(),
        wall=wares.wall,
        degraded=wares.degraded,
        setting=wares.setting,
    )
    return LinkedExtension(
        LinkedSettings(setup.home, broker=setup.upstreams, agents=setup.agents),
        RentedBackend(wares.name, offer, rentals, wares.missing or missing),
    )


def _capabilities(wares: Wares, templates: Mapping[str, str]) -> Capabilities:
    price = wares.cost_per_hour
    return Capabilities(
        isolation=wares.isolation,
        regions=(wares.region,),
        host_kind=None,
        pricing=wares.pricing,
        cost_per_hour=None if price is None else HourlyCost(round(price * MICROS)),
        images=frozenset(map(image_kind, templates)),
        needs_key=True,
        ignores=wares.ignores,
        spare_layers=False,
    )
