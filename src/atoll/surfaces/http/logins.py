"""Routes by which a person logs agents in at their vendors, and decides where the logins are used.

No answer holds a token, a code that is traded for one, or a key: shown are references.
"""

from atoll.domain.logins.agent_login import AgentLoginId, AgentLoginRecord
from atoll.services.logins.begun import BegunAgentLogin
from atoll.surfaces.http.body.answers import instant
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.agents import logins as api
from atoll.wire.api.agents.logins import AgentLogins
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.words.agents import LoginMethod

operations = Operations()


@operations.serves(AgentLogins.begin)
async def begin_agent_login(
    context: RequestContext, body: api.AgentLoginBody
) -> api.AgentLoginView:
    request = BegunAgentLogin(body.agent, LoginMethod(body.method), body.api_key, body.provider)
    return _view(await context.atoll.agent_logins.begin(context.caller, request))


@operations.serves(AgentLogins.list)
async def list_agent_logins(
    context: RequestContext, *, page: Paging = FIRST_PAGE
) -> api.AgentLoginList:
    found = await context.atoll.agent_logins.list(context.caller)
    logins, following = context.page(page).items_and_next(found, key=lambda one: one.id, view=_view)
    return api.AgentLoginList(logins=logins, next=following)


@operations.serves(AgentLogins.get)
async def get_agent_login(context: RequestContext, login: str) -> api.AgentLoginView:
    return _view(await context.atoll.agent_logins.get(context.caller, AgentLoginId(login)))


@operations.serves(AgentLogins.paste)
async def paste_agent_login(
    context: RequestContext, login: str, body: api.RedirectBody
) -> api.AgentLoginView:
    record = await context.atoll.agent_logins.paste(
        context.caller, AgentLoginId(login), body.redirect
    )
    return _view(record)


@operations.serves(AgentLogins.turn)
async def turn_agent_login(
    context: RequestContext, login: str, body: api.LoginUseBody
) -> api.AgentLoginView:
    await context.atoll.agent_logins.turn(context.caller, AgentLoginId(login), on=body.in_use)
    return _view(await context.atoll.agent_logins.get(context.caller, AgentLoginId(login)))


@operations.serves(AgentLogins.expose)
async def expose_agent_login(
    context: RequestContext, login: str, body: api.LoginExposureBody
) -> api.AgentLoginView:
    scopes = tuple(body.exposed_to)
    return _view(
        await context.atoll.agent_logins.expose(context.caller, AgentLoginId(login), scopes)
    )


@operations.serves(AgentLogins.revoke)
async def revoke_agent_login(context: RequestContext, login: str) -> api.AgentLoginView:
    return _view(await context.atoll.agent_logins.revoke(context.caller, AgentLoginId(login)))


def _view(record: AgentLoginRecord) -> api.AgentLoginView:
    login = record.login
    return answer_of(
        api.AgentLoginView,
        record,
        method=int(login.method),
        status=login.state,
        reason=login.reason,
        scopes=list(record.scopes),
        exposed_to=list(record.exposed_to),
        expires_at=instant(login.expires_at),
    )
