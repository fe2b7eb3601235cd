"""The route of the metrics, there only where a setting turns them on.

A scraper of this machine needs no credential, any other the token of the metrics. The page holds
figures of the whole installation and nothing of a tenant's.
"""

import hmac
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from atoll.domain.errors import Forbidden, Unauthenticated
from atoll.services.telemetry import Telemetry
from atoll.surfaces.http.server.host_names import LOOPBACK, without_port
from atoll.surfaces.http.serving.routes import NamedRoute

PATH: Final = "/metrics"
TEXT_FORMAT: Final = "text/plain; version=0.0.4; charset=utf-8"

_FORWARDED: Final = frozenset({"forwarded", "x-forwarded-for", "x-real-ip", "via"})


@dataclass(frozen=True, slots=True)
class MetricsAccess:
    """The right to read the metrics: of whoever has the token; without one, of programs of this
    machine."""

    token: str | None = field(default=None, repr=False)


async def read_metrics(request: Request) -> Response:
    """Return all metrics in Prometheus' text format."""
    access: MetricsAccess = request.app.state.metrics
    if access.token is None:
        _check_local(request)
    else:
        _check_token(request.headers.get("authorization", ""), access.token)
    telemetry: Telemetry = request.app.state.telemetry
    return Response(await telemetry.metrics.page(), media_type=TEXT_FORMAT)


ROUTES: Final = (NamedRoute(f"GET {PATH}", read_metrics),)


def _check_local(request: Request) -> None:
    """Raise `Forbidden` for another machine's request, also one that a proxy here passes on."""
    client = request.client
    own_name = without_port(request.headers.get("host", "").lower()) in LOOPBACK
    near = client is not None and ip_address(client.host).is_loopback
    if not (near and own_name) or _FORWARDED & {name.lower() for name in request.headers}:
        raise Forbidden(
            "metrics are for programs of this machine: set `metrics` to `token` for a scraper "
            "elsewhere"
        )


def _check_token(authorization: str, token: str) -> None:
    expected = f"Bearer {token}".encode()
    if not hmac.compare_digest(authorization.encode("utf-8", "surrogateescape"), expected):
        raise Unauthenticated("send the token in $ATOLL_HOME/metrics.token as a bearer token")
