"""Names of previews: as the settings and the listening addresses say."""

import pytest

from atoll.domain.errors import Invalid
from atoll.surfaces.http.server.host_names import names_for
from atoll.surfaces.http.server.settings import ServerSettings
from atoll.wiring.control.reach import Reach, origins_of

HERE = "http://127.0.0.1:8080"


def test_without_a_domain_previews_are_this_machines() -> None:
    public = "https://atoll.example.org"
    own = ServerSettings(public_url=public)
    found = origins_of(own, Reach(public), names_for("127.0.0.1", public, ()), here=HERE)
    assert (found.local_only, found.cookie) == (True, "atoll_preview")
    assert found.origin("3000-sb-a") == "http://3000-sb-a.localhost:8080"
    assert set(found.pages) == {public, HERE, "http://localhost:8080"}


def test_domain_is_reached_as_the_server_is_from_elsewhere() -> None:
    public = "https://atoll.example.org"
    own = ServerSettings(public_url=public, preview_domain="p.example.net")
    found = origins_of(own, Reach(public), names_for("127.0.0.1", public, ()), here=HERE)
    assert (found.local_only, found.cookie) == (False, "__Host-atoll_preview")
    assert found.url("pr-7.shop", "s") == "https://pr-7.shop.p.example.net/.atoll/enter#s"
    assert found.frame_source == "https://*.p.example.net"


def test_domain_of_the_servers_own_name_stops_the_start() -> None:
    public = "https://atoll.example.org"
    own = ServerSettings(public_url=public, preview_domain="previews.atoll.example.org")
    with pytest.raises(Invalid, match="apart"):
        origins_of(own, Reach(public), names_for("127.0.0.1", public, ()), here=HERE)
