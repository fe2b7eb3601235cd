"""Settings of `ext.daytona` and `ext.daytona-self` as `config.toml` spells them."""

from typing import Annotated

import msgspec

from atoll.domain.broker.provider import safe_base_url
from atoll.domain.errors import Invalid


class DaytonaSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of machines at Daytona, or at a Daytona of one's own. Raises `Invalid` for an
    address that would send keys in the clear.

    `templates`: a snapshot of Daytona for each image of a profile; `host` is its default one unless
    it is named. `api_url`: where a Daytona answers, with `/api`. `target`: its region.
    `cost_per_hour`: the declared price of a machine in USD, by which routes compare.
    """

    templates: dict[str, str] = {}
    api_url: str | None = None
    target: str | None = None
    cost_per_hour: Annotated[float, msgspec.Meta(ge=0, le=1000)] | None = None

    def __post_init__(self) -> None:
        if self.api_url is not None and not safe_base_url(self.api_url):
            raise Invalid(
                "api_url of a Daytona must be https://…, or http:// to this machine",
                field="api_url",
            )
