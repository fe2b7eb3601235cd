"""Routes of the caller: their name, their sessions, and the organization in which they work."""

from msgspec.structs import asdict

from atoll.domain.errors import NotFound
from atoll.domain.people.login import fingerprint
from atoll.domain.people.person import PersonSession
from atoll.domain.people.principal import Principal
from atoll.services.application import Application, Identity
from atoll.surfaces.http.body.answers import instant
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.people import me as api
from atoll.wire.api.people.me import Me

operations = Operations()


@operations.serves(Me.who)
async def who_am_i(context: RequestContext) -> api.MeView:
    return await me_view(context.atoll, context.caller)


@operations.serves(Me.get)
async def read_me(context: RequestContext) -> api.MeView:
    return await me_view(context.atoll, context.caller)


@operations.serves(Me.change)
async def change_me(context: RequestContext, body: api.MeBody) -> api.MeView:
    renamed = await context.atoll.tenancy.organizations.rename(context.caller, body.name)
    return await me_view(context.atoll, renamed)


@operations.serves(Me.set_shade)
async def set_my_shade(context: RequestContext, body: api.ShadeBody) -> None:
    await context.atoll.tenancy.shades.set(context.caller, body.shade)


@operations.serves(Me.sessions)
async def list_my_sessions(context: RequestContext) -> api.MySessionList:
    identity = context.atoll.tenancy.identity
    found = [] if identity is None else await identity.sessions.list(context.caller)
    current = context.request.state.session
    return api.MySessionList(sessions=[_session(one, current) for one in found])


@operations.serves(Me.end_session)
async def end_my_session(context: RequestContext, session: str) -> None:
    await identity_of(context.atoll).sessions.end_one(context.caller, session)


@operations.serves(Me.choose_organization)
async def choose_organization(context: RequestContext, body: api.OrganizationChoice) -> None:
    session = context.request.state.session
    if session is None or context.caller.token is not None:
        raise NotFound("Only a browser's session chooses its organization; a token has its own.")
    await identity_of(context.atoll).sessions.choose(session, body.organization)


def identity_of(atoll: Application) -> Identity:
    """Return the logins at providers. Raises `NotFound` where there are none."""
    if atoll.tenancy.identity is None:
        raise NotFound("There is no login provider here: `atoll login` prints a login link.")
    return atoll.tenancy.identity


async def entered_view(
    atoll: Application, caller: Principal, session: str, route: str = ""
) -> api.EnteredView:
    """Return a caller after a login, with the key of this session's page."""
    key = atoll.logins.page_key(session)
    return api.EnteredView(**asdict(await me_view(atoll, caller)), page_key=key, next=route)


async def me_view(atoll: Application, caller: Principal) -> api.MeView:
    """Return a caller, and the access of one who is a guest."""
    access = caller.guest_access
    sandbox, dashboard = await atoll.shares.opened_to(caller)
    guest = None
    if access is not None and (sandbox is not None or dashboard is not None):
        guest = answer_of(
            api.GuestAccessView,
            access,
            inviter=await atoll.shares.inviter_of(access),
            sandbox_name=None if sandbox is None else sandbox.name,
            sandbox_state=None if sandbox is None else sandbox.state.value,
            dashboard_name=None if dashboard is None else dashboard.name,
        )
    return answer_of(api.MeView, caller, name=caller.name or caller.id, guest=guest)


def _session(session: PersonSession, current: str | None) -> api.MySessionView:
    return answer_of(
        api.MySessionView,
        session,
        current=current is not None and fingerprint(current) == session.mark,
        last_seen_at=instant(session.seen_at),
    )
