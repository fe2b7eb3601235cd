"""Previews: their services, and the names under which browsers reach them."""

from urllib.parse import urlsplit

from atoll.domain.preview.origin import LOOPBACK_DOMAIN, check_apart
from atoll.services.application import Tenancy
from atoll.services.ground import Ground
from atoll.services.people.logins import Logins
from atoll.services.previews.previews import Previews, PreviewServices, PreviewWatch
from atoll.services.previews.visits import Visits
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.surfaces.http.previews.origins import PreviewOrigins
from atoll.surfaces.http.server.host_names import Names
from atoll.surfaces.http.server.settings import ServerSettings
from atoll.wiring.control.reach import Reach


def build_previews(
    ground: Ground, sandboxes: Sandboxes, logins: Logins, tenancy: Tenancy
) -> PreviewServices:
    """Return the use cases of previews, and what the leader does for them."""
    previews = Previews(ground, sandboxes)
    visits = Visits(ground, sandboxes, logins=logins, tokens=tenancy.credentials.tokens)
    return PreviewServices(previews, visits, PreviewWatch(ground, previews))


def origins_of(own: ServerSettings, reach: Reach, names: Names, *, here: str) -> PreviewOrigins:
    """Return the names of previews: in the configured domain, reached as the server is from
    elsewhere; else on this machine alone. `here` is the URL of the listener on loopback. Raises
    `Invalid` for a domain that is not apart from the server's names."""
    domain = own.preview_domain or LOOPBACK_DOMAIN
    check_apart(domain, names.hosts)
    base = urlsplit(own.public_url or reach.url or here) if own.preview_domain else urlsplit(here)
    pages = {here, *names.origins, *(() if reach.url is None else (reach.url,))}
    port = urlsplit(here).port
    pages |= {f"http://{host}:{port}" for host in (LOOPBACK_DOMAIN, "127.0.0.1")}
    return PreviewOrigins(
        domain,
        scheme=base.scheme,
        port=base.port,
        pages=tuple(sorted(page.rstrip("/") for page in pages if "[" not in page)),
    )
