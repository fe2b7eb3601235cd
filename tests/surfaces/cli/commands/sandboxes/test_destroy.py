"""`atoll destroy` where a sandbox cannot be taken away: it ends with what stands."""

from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted, sandbox

STANDS = "the files of one (sb_one) on host box, and what may still run of it there"
WHY = "It could not be taken away yet: host box shows another key"


def test_destroy_that_rests_ends_with_what_stands_and_with_1(cli: Cli, server: Scripted) -> None:
    server.add("one")
    rests = sandbox("one", state="destroying", reason=WHY, leftovers=[STANDS])
    server.answers["POST /v1/sandboxes/sb_one/destroy"] = lambda _seen: web.json_response(rests)
    ran = cli("destroy", "one", "--yes")
    assert ran.code == 1
    assert ran.out == (
        f"one is destroying. {WHY}. This stands: {STANDS}. It is taken up again once the host is "
        "trusted.\n"
    )


def test_destroy_that_goes_on_says_that_it_is_tried_again(cli: Cli, server: Scripted) -> None:
    server.add("one")
    goes_on = sandbox("one", state="destroying", reason="The host cannot be reached.")
    server.answers["POST /v1/sandboxes/sb_one/destroy"] = lambda _seen: web.json_response(goes_on)
    ran = cli("destroy", "one", "--yes")
    assert (ran.code, "It goes on being tried." in ran.out) == (1, True)
