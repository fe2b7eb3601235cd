"""Settings of `ext.modal` as `config.toml` spells them."""

from typing import Annotated

import msgspec

from atoll.domain.broker.provider import safe_base_url
from atoll.domain.errors import Invalid

_Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9._-]{1,63}$")]


class ModalSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `ext.modal`. Raises `Invalid` for an address that would send keys in the clear.

    `templates`: an image of a registry, or the id of one at Modal (`im-…`), for each image of a
    profile; `host` is `python:3.12-slim-bookworm` unless it is named.
    `app`: the app at Modal to which machines belong. `region`: where they are, else anywhere.
    `server_url`: where Modal answers. `cost_per_hour`: the declared price of a machine in USD.
    """

    templates: dict[str, str] = {}
    app: _Name = "atoll"
    region: _Name | None = None
    server_url: str | None = None
    cost_per_hour: Annotated[float, msgspec.Meta(ge=0, le=1000)] | None = None

    def __post_init__(self) -> None:
        if self.server_url is not None and not safe_base_url(self.server_url):
            raise Invalid(
                "modal.server_url must be https://…, or http:// to this machine", field="modal"
            )
