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
from atoll.services.policies.secret_policies import LentKey, LentLogin, OpenSecret, has_purpose
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
    uses = [entry.secret.use for entry in mine if has_purpose(entry, Purpose.GIT)]
    remotes = tuple(use.target for use in uses)
    pushed = tuple(use.target for use in uses if use.push)
    variables: dict[str, str] = {}
    for entry in mine:
        variables.update(_variables(entry))
    for login in lent:
        if _lent_to(login) == own_agent(sandbox):
            variables.update(_login_variables(login))
    if api is not None:
        variables["ATOLL_API_URL"] = API_DOOR
    chosen = {**dict(sandbox.profile.env), **dict(sandbox.env)}
    for name in chosen:
        variables.pop(name, None)
    count = read_count(chosen.get("GIT_CONFIG_COUNT", ""))
    ways = dict(git_environment(remotes, GIT_DOOR, pushed=pushed))
    variables.update(git_settings(ways, first=count or 0))
    return tuple(sorted(variables.items()))


def agent_environments(
    sandbox: Sandbox, lent: Sequence[LentLogin]
) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Variables of the processes of one agent alone, by its name: of the logins of agents that are
    not the sandbox's own. Another agent may use the same provider by a key."""
    taken = {name for name, _ in (*sandbox.profile.env, *sandbox.env)}
    environments: dict[str, tuple[tuple[str, str], ...]] = {}
    for login in lent:
        agent = _lent_to(login)
        if agent != own_agent(sandbox):
            given = (pair for pair in _login_variables(login) if pair[0] not in taken)
            environments[agent] = tuple(sorted(given))
    return tuple(sorted(environments.items()))


def own_agent(sandbox: Sandbox) -> str:
    """Return the name of the sandbox's own agent, without alias and version; empty without one."""
    return canonical_name(sandbox.agent) if sandbox.agent else ""


def _lent_to(login: LentLogin) -> str:
    return login.agent if isinstance(login, ExposedLogin | LentKey) else agent_of(login.provider)


def _variables(entry: OpenSecret) -> dict[str, str]:
    secret, use = entry.secret, entry.secret.use
    variables: dict[str, str] = {}
    if use.purpose is Purpose.PROVIDER:
        provider = PROVIDERS[use.target]
        variables.update(broker_environment(provider, BROKER))
        if secret.exposed and provider.key_env:
            variables[provider.key_env] = entry.value
    if use.variable is not None:
        variables[use.variable] = entry.value if secret.exposed else _placeholder(secret)
        if use.purpose is Purpose.CUSTOM:
            variables[f"{use.variable}_BROKER_URL"] = f"{BROKER}/custom/{secret.name}"
    return variables


def _login_variables(lent: LentLogin) -> tuple[tuple[str, str], ...]:
    if isinstance(lent, ExposedLogin):
        return LOGIN_USES[lent.agent].exposed_environment(BROKER, lent.inside.token)
    if isinstance(lent, LentKey):
        return broker_environment(PROVIDERS[lent.key.provider], BROKER)
    use = LOGIN_USES.get(agent_of(lent.provider))
    return () if use is None else use.environment(BROKER)


def _placeholder(secret: Secret) -> str:
    return f"{PLACEHOLDER_PREFIX}{secret.name}-no-value-inside"
