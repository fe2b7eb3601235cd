"""Settings of `ext.openshell` as `config.toml` spells them."""

from typing import Annotated

import msgspec

from atoll.domain.broker.provider import safe_base_url
from atoll.domain.errors import Invalid


class OpenShellSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `ext.openshell`. Raises `Invalid` for an address that would send keys in the
    clear.

    `gateway`: the address of the gateway, `https://HOST:PORT`; http only to this machine.
    `ca`: the file of the authority that signed its certificate; the system's are used without.
    `workspace`: the workspace of OpenShell in which sandboxes are made.
    `images`: the OCI image for each image of a profile; the gateway's own does not do.
    `user`: `sandbox` or a number, for an image whose own user is not meant.
    `cost_per_hour`: the declared price of a sandbox in USD, by which routes compare.
    `region`: the declared region of the gateway.
    """

    gateway: str = ""
    ca: str = ""
    workspace: str = "default"
    images: dict[str, str] = {}
    user: Annotated[str, msgspec.Meta(pattern=r"^(sandbox|[1-9][0-9]{0,9})?$")] = ""
    cost_per_hour: Annotated[float, msgspec.Meta(ge=0, le=1000)] | None = None
    region: str = "openshell"

    def __post_init__(self) -> None:
        if self.gateway and not safe_base_url(self.gateway):
            raise Invalid(
                "openshell.gateway must be https://…, or http:// to this machine",
                field="openshell",
            )
