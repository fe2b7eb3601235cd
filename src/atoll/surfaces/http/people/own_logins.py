"""Routes of the login at a provider of the person who runs the installation."""

from atoll.domain.people.login import LINK_LIFE
from atoll.surfaces.http.people.links import outside_link
from atoll.surfaces.http.people.me import me_view
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.people import own_logins as api
from atoll.wire.api.people.me import MeView
from atoll.wire.api.people.own_logins import OwnLogins

operations = Operations()


@operations.serves(OwnLogins.get)
async def read_own_login(context: RequestContext) -> api.OwnLoginView:
    own = await context.atoll.tenancy.own_logins.get(context.caller)
    if own is None:
        return api.OwnLoginView(linked=False, name="", email="")
    return api.OwnLoginView(linked=True, name=own.login.name, email=own.login.email)


@operations.serves(OwnLogins.make)
async def make_own_link(context: RequestContext) -> api.OwnLinkView:
    secret = await context.atoll.tenancy.own_logins.make(context.caller)
    link = outside_link(context.request, f"link={secret}")
    return api.OwnLinkView(
        secret=secret,
        url=link.url,
        local_only=link.local_only,
        expires_in=int(LINK_LIFE.total_seconds()),
    )


@operations.serves(OwnLogins.end)
async def end_own_login(context: RequestContext) -> None:
    await context.atoll.tenancy.own_logins.end(context.caller)


@operations.serves(OwnLogins.look)
async def look_at_own_link(context: RequestContext, body: api.OwnLinkBody) -> api.OwnLinkOffer:
    own = await context.atoll.tenancy.own_logins.look(context.caller, body.secret)
    return api.OwnLinkOffer(person=own.person, name=own.login.name, email=own.login.email)


@operations.serves(OwnLogins.accept)
async def accept_own_link(context: RequestContext, body: api.OwnLinkBody) -> MeView:
    person = await context.atoll.tenancy.own_logins.accept(context.caller, body.secret)
    return await me_view(context.atoll, person)
