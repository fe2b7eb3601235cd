"""The entry point of `ext.openshell`."""

import os
from dataclasses import replace

from atoll.adapters.extensions.openshell.settings import OpenShellSettings
from atoll.adapters.linked.extension import LinkedExtension
from atoll.adapters.linked.policy_wall import DEGRADED, PolicyWall
from atoll.adapters.rented.entry import Wares, rented_extension, settings_of
from atoll.adapters.rented.vendor import Vendor
from atoll.domain.profile.demands import ACCESS, DEBUG, DISK, NETLINK, PIDS
from atoll.ports.extension import SELF_HOSTED, ExtensionSetup
from atoll.wire.words.walls import IsolationLevel

NAME = "ext.openshell"
NO_GATEWAY = (
    "ext.openshell needs a gateway and an image: set `gateway` and `images.host` in the table "
    "`openshell` of config.toml"
)
_NO_RULE = "a policy of OpenShell has no rule for it"
IGNORED = (
    *((one, _NO_RULE) for one in (PIDS, DISK, DEBUG, NETLINK)),
    (ACCESS, "a policy that keeps a sandbox from its workspace would keep Atoll out as well"),
)


def make(setup: ExtensionSetup) -> LinkedExtension:
    """Make the extension of a home. Raises `Invalid` for a setting that is wrong; without a gateway
    the extension says so."""
    settings = settings_of(setup, NAME, OpenShellSettings)
    wares = wares_of(settings)
    if not settings.gateway or not settings.images:
        return rented_extension(setup, replace(wares, missing=NO_GATEWAY), None)
    return rented_extension(setup, wares, _vendor(settings))


def wares_of(settings: OpenShellSettings) -> Wares:
    """Return the wares of an OpenShell gateway: sandboxes of a policy, whose network is closed."""
    return Wares(
        name=NAME,
        title="OpenShell",
        isolation=IsolationLevel.POLICY,
        mechanism="OpenShell: Landlock, seccomp and a network namespace",
        default=None,
        region=settings.region,
        templates=settings.images,
        cost_per_hour=settings.cost_per_hour,
        pricing=SELF_HOSTED,
        wall=PolicyWall,
        degraded=DEGRADED,
        setting="images",
        ignores=IGNORED,
    )


def _vendor(settings: OpenShellSettings) -> Vendor | None:
    """Return the vendor; None without its library, which takes long to load."""
    # What gRPC does in a fork by default ended one in ten programs that this process started by
    # SIGSEGV (grpcio 1.85, under traffic). It is read when gRPC is loaded.
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
    try:
        from atoll.adapters.extensions.openshell.vendor import OpenShellVendor
    except ImportError:
        return None
    return OpenShellVendor(settings)
