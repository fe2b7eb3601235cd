"""Names under which browsers reach previews, and what a request to one says about its browser."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from atoll.domain.previews.head import Outside
from atoll.domain.previews.origin import LOOPBACK_DOMAIN, read_label

COOKIE: Final = "atoll_preview"
HOST_COOKIE: Final = "__Host-atoll_preview"
_HOST = re.compile(r"([a-z0-9.-]+)(?::([1-9][0-9]{0,4}))?")


@dataclass(frozen=True, slots=True)
class PreviewOrigins:
    """The domain of previews, and how browsers reach it. `port` None is the one of the scheme, on
    loopback the one that the request came by. `pages` are origins of Atoll's own page, which may
    show previews in frames."""

    domain: str = LOOPBACK_DOMAIN
    scheme: str = "http"
    port: int | None = None
    pages: tuple[str, ...] = ()

    @property
    def local_only(self) -> bool:
        """True when no other machine can open a preview."""
        return self.domain == LOOPBACK_DOMAIN

    @property
    def cookie(self) -> str:
        """The name of a visit's cookie. Browsers take the prefix `__Host-` over TLS only."""
        return HOST_COOKIE if self.scheme == "https" else COOKIE

    @property
    def pane_cookie(self) -> str:
        """The name of the cookie that marks frames which the preview pane opened."""
        return f"{self.cookie}_pane"

    @property
    def frame_source(self) -> str:
        """The source of a page's policy that stands for every preview."""
        return f"{self.scheme}://*.{self.domain}{self._colon_port}"

    @property
    def _colon_port(self) -> str:
        return "" if self.port is None else f":{self.port}"

    def for_request(self, scope: Mapping[str, Any]) -> "PreviewOrigins":
        """Return the same names with the port that a request of Atoll's own page came by, where
        none is set."""
        match = _HOST.fullmatch(_host(scope))
        if self.port is not None or not self.local_only or match is None or match[2] is None:
            return self
        return replace(self, port=int(match[2]))

    def label_of(self, scope: Mapping[str, Any]) -> str | None:
        """Return the preview that a connection names by its one Host header, None when it names
        none."""
        match = _HOST.fullmatch(_host(scope))
        return None if match is None else read_label(match[1], self.domain)

    def takes(self, scope: Mapping[str, Any]) -> bool:
        """Report whether a connection is for a preview."""
        return self.label_of(scope) is not None

    def outside(self, scope: Mapping[str, Any], port: int) -> Outside:
        """Return the address of a preview as the browser of this connection knows it."""
        return Outside(f"{self.scheme}://{_host(scope)}".encode(), port, self.pages)

    def url(self, label: str, secret: str) -> str:
        """Return the link that opens a preview. The secret stands in the fragment, which browsers
        never send, log or pass on."""
        return f"{self.origin(label)}/.atoll/enter#{secret}"

    def origin(self, label: str) -> str:
        """Return the origin of a preview."""
        return f"{self.scheme}://{label}.{self.domain}{self._colon_port}"


LOOPBACK_ORIGINS: Final = PreviewOrigins()


def _host(scope: Mapping[str, Any]) -> str:
    """Return the name that a connection calls the server by; empty when it names none or two."""
    given = [value for name, value in scope["headers"] if name == b"host"]
    return given[0].decode("latin-1").lower() if len(given) == 1 else ""
