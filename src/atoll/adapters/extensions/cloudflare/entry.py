"""The entry point of `ext.cloudflare`."""

from atoll.adapters.extensions.cloudflare.settings import CloudflareSettings
from atoll.adapters.extensions.cloudflare.vendor import CloudflareVendor
from atoll.adapters.linked.extension import LinkedExtension
from atoll.adapters.linked.machine import programs_of
from atoll.adapters.rented.entry import Wares, rented_extension, settings_of
from atoll.ports.extension import ExtensionSetup
from atoll.wire.words.walls import IsolationLevel

NAME = "ext.cloudflare"
DEFAULT_TEMPLATE = "Sandbox"
MISSING = "ext.cloudflare needs a Worker: deploy deploy/cloudflare, then set cloudflare.url"


def make(setup: ExtensionSetup) -> LinkedExtension:
    """Make the extension of a home. Raises `Invalid` for a setting that is wrong."""
    settings = settings_of(setup, NAME, CloudflareSettings)
    vendor = None
    if settings.url is not None:
        vendor = CloudflareVendor(settings.url, programs_of(setup.home))
    return rented_extension(setup, wares_of(settings), vendor)


def wares_of(settings: CloudflareSettings) -> Wares:
    """Return the wares of Cloudflare: containers in machines of their own, closed by the Worker."""
    return Wares(
        name=NAME,
        title="Cloudflare",
        isolation=IsolationLevel.MICROVM,
        mechanism="Cloudflare and bubblewrap",
        default=DEFAULT_TEMPLATE,
        region="cloudflare",
        templates=settings.templates,
        cost_per_hour=settings.cost_per_hour,
        missing=MISSING,
    )
