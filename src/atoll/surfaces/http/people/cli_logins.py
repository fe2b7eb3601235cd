"""Routes of logins of command lines: begun there, confirmed on the page, fetched there once."""

from atoll.domain.people.cli_login import LIFE, POLL_SECONDS
from atoll.surfaces.http.body.answers import instant
from atoll.surfaces.http.people.links import outside_link
from atoll.surfaces.http.server.guard import source_of
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.people import logins as api
from atoll.wire.api.people.logins import CliLogins

operations = Operations()


@operations.serves(CliLogins.begin)
async def begin_cli_login(context: RequestContext, body: api.CliLoginBody) -> api.CliLoginView:
    source = source_of(context.request.scope)
    login, secret = await context.atoll.tenancy.cli_logins.begin(source, body.machine)
    return api.CliLoginView(
        code=login.code,
        secret=secret,
        url=outside_link(context.request, f"/cli/{login.code}").url,
        expires_in=int(LIFE.total_seconds()),
        interval=POLL_SECONDS,
    )


@operations.serves(CliLogins.poll)
async def poll_cli_login(context: RequestContext, body: api.CliPollBody) -> api.CliPollView:
    source = source_of(context.request.scope)
    found = await context.atoll.tenancy.cli_logins.fetch(body.secret, source)
    if found is None:
        return api.CliPollView(token=None, token_id=None, expires_at=None)
    token, text = found
    return api.CliPollView(token=text, token_id=token.id, expires_at=instant(token.expires_at))


@operations.serves(CliLogins.waiting)
async def read_cli_login(context: RequestContext, code: str) -> api.WaitingCliLoginView:
    login = await context.atoll.tenancy.cli_logins.waiting(context.caller, code)
    return answer_of(api.WaitingCliLoginView, login)


@operations.serves(CliLogins.confirm)
async def confirm_cli_login(context: RequestContext, code: str) -> api.WaitingCliLoginView:
    login = await context.atoll.tenancy.cli_logins.confirm(context.caller, code)
    return answer_of(api.WaitingCliLoginView, login)
