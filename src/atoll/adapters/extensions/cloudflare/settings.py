"""Settings of `ext.cloudflare` as `config.toml` spells them."""

from typing import Annotated

import msgspec

from atoll.domain.broker.provider import safe_base_url
from atoll.domain.errors import Invalid

Binding = Annotated[str, msgspec.Meta(pattern=r"^Sandbox[A-Za-z0-9_]{0,56}$")]


class CloudflareSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `ext.cloudflare`. Raises `Invalid` for an address that would send keys in the
    clear.

    `url`: where the Worker of `deploy/cloudflare` answers; without it the backend is not available.
    `templates`: the Worker's class of containers for each image of a profile; `host` is `Sandbox`
    unless it is named. `cost_per_hour`: the declared price of a machine in USD.
    """

    url: str | None = None
    templates: dict[str, Binding] = {}
    cost_per_hour: Annotated[float, msgspec.Meta(ge=0, le=1000)] | None = None

    def __post_init__(self) -> None:
        if self.url is not None and not safe_base_url(self.url):
            raise Invalid(
                "cloudflare.url must be https://…, or http:// to this machine", field="cloudflare"
            )
