"""Variables of new processes inside a sandbox: the ways to its doors, and placeholders of secrets.

A value is among them only where its owner exposes it.
"""

from collections.abc import Sequence

from atoll.domain.agents.login_use import LOGIN_USES, ExposedLogin, agent_of
from atoll.domain.agents.registry import canonical_name
from atoll.domain.broker.provider import PLACEHOLDER_PREFIX, PROVIDERS, broker_environment
from atoll.domain.repository.git_remote import git_environment
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.secrets.secret import Secret
from atoll.domain.wall.interior import BROKER, BROKER_DOOR
from atoll.domain.wall.own_environment import git_settings
from atoll.services.policies.secret_policies import LentKey, LentLogin, OpenSecret, serves
from atoll.services.scripts import read_count
from atoll.wire.contract.policy import ApiAccess
from atoll.wire.words.secrets import Purpose

GIT_DOOR = f"{BROKER_DOOR}/git"
API_DOOR = f"{BROKER_DOOR}/atoll"
"""As seen from inside."""


def environment_of(
    sandbox: Sandbox,
    mine: Sequence[OpenSecret],
    api: ApiAccess | None,
    lent: Sequence[LentLogin],
) -> tuple[tuple[str, str], ...]:
    """Variables for new processes inside, those of its own agent's login among them. What the
    caller or the profile set themselves stays, and settings of git that they made are counted
    on."""
    uses = [one.secret.use for one in mine if serves(one, Purpose.GIT)]
    remotes = tuple(use.target for use in uses)
    pushed = tuple(use.target for use in uses if use.push)
    found: dict[str, str] = {}
    for one in mine:
        found.update(_variables(one))
    for login in lent:
        if _lent_to(login) == own_agent(sandbox):
            found.update(_login_variables(login))
    if api is not None:
        found["ATOLL_API_URL"] = API_DOOR
    chosen = {**dict(sandbox.profile.env), **dict(sandbox.env)}
    for name in chosen:
        found.pop(name, None)
    count = read_count(chosen.get("GIT_CONFIG_COUNT", ""))
    ways = dict(git_environment(remotes, GIT_DOOR, pushed=pushed))
    found.update(git_settings(ways, first=count or 0))
    return tuple(sorted(found.items()))


def agent_environments(
    sandbox: Sandbox, lent: Sequence[LentLogin]
) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Variables of the processes of one agent alone, by its name: of the logins of agents that are
    not the sandbox's own. Another agent may use the same provider by a key."""
    taken = {name for name, _ in (*sandbox.profile.env, *sandbox.env)}
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for login in lent:
        agent = _lent_to(login)
        if agent != own_agent(sandbox):
            given = (pair for pair in _login_variables(login) if pair[0] not in taken)
            found[agent] = tuple(sorted(given))
    return tuple(sorted(found.items()))


def own_agent(sandbox: Sandbox) -> str:
    """Return the name of the sandbox's own agent, without alias and version; empty without one."""
    return canonical_name(sandbox.agent) if sandbox.agent else ""


def _lent_to(login: LentLogin) -> str:
    return login.agent if isinstance(login, ExposedLogin | LentKey) else agent_of(login.provider)


def _variables(one: OpenSecret) -> dict[str, str]:
    secret, use = one.secret, one.secret.use
    found: dict[str, str] = {}
    if use.purpose is Purpose.PROVIDER:
        provider = PROVIDERS[use.target]
        found.update(broker_environment(provider, BROKER))
        if secret.exposed and provider.key_env:
            found[provider.key_env] = one.value
    if use.variable is not None:
        found[use.variable] = one.value if secret.exposed else _placeholder(secret)
        if use.purpose is Purpose.CUSTOM:
            found[f"{use.variable}_BROKER_URL"] = f"{BROKER}/custom/{secret.name}"
    return found


def _login_variables(lent: LentLogin) -> tuple[tuple[str, str], ...]:
    if isinstance(lent, ExposedLogin):
        return LOGIN_USES[lent.agent].exposed_environment(BROKER, lent.inside.token)
    if isinstance(lent, LentKey):
        return broker_environment(PROVIDERS[lent.key.provider], BROKER)
    use = LOGIN_USES.get(agent_of(lent.provider))
    return () if use is None else use.environment(BROKER)


def _placeholder(secret: Secret) -> str:
    return f"{PLACEHOLDER_PREFIX}{secret.name}-no-value-inside"
