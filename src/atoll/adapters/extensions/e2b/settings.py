"""Settings of `ext.e2b` as `config.toml` spells them."""

from typing import Annotated

import msgspec

from atoll.domain.broker.provider import safe_base_url
from atoll.domain.errors import Invalid


class E2bSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `ext.e2b`. Raises `Invalid` for an address that would send keys in the clear.

    `templates`: E2B's template for each image of a profile; `host` is `base` unless it is named.
    `domain`, `api_url`, `sandbox_url`: where an E2B of one's own answers.
    `cost_per_hour`: the declared price of a machine in USD, by which routes compare.
    """

    templates: dict[str, str] = {}
    domain: str | None = None
    api_url: str | None = None
    sandbox_url: str | None = None
    cost_per_hour: Annotated[float, msgspec.Meta(ge=0, le=1000)] | None = None

    def __post_init__(self) -> None:
        for name in ("api_url", "sandbox_url"):
            url = getattr(self, name)
            if url is not None and not safe_base_url(url):
                raise Invalid(
                    f"e2b.{name} must be https://…, or http:// to this machine", field="e2b"
                )
