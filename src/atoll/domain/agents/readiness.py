"""The readiness of an agent on this host: whether it works, and else why not and what mends that.

Pure: who asks says which secrets the person has, and what the host answered about the program.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass

from atoll.domain.agents.agent import Agent
from atoll.domain.secrets.secret import Secret
from atoll.wire.words.agents import ReadinessState
from atoll.wire.words.secrets import Purpose


@dataclass(frozen=True, slots=True)
class AgentReadiness:
    """The readiness of one agent. `mend` says what to do about `reason`."""

    agent: Agent
    state: ReadinessState
    reason: str | None = None
    mend: str | None = None


def assess(
    agent: Agent,
    secrets: Iterable[Secret],
    *,
    missing: str | None,
    forbidden: bool,
    providers_with_key: Container[str] = (),
    logged_in: Container[str] = (),
) -> AgentReadiness:
    """Return the readiness. `missing` is the host's refusal to mount the program, None where it has
    one; `forbidden` says that the installation leaves the agent out. The installation has a key of
    its own for each of `providers_with_key`; `logged_in` are the agents with a login in use."""
    if missing is not None and forbidden:
        return AgentReadiness(agent, ReadinessState.UNAVAILABLE, missing)
    if missing is not None and agent.package is None:
        state = ReadinessState.UNAVAILABLE
        return AgentReadiness(agent, state, "It is not on this host.", agent.hint or None)
    if missing is not None:
        return AgentReadiness(
            agent,
            ReadinessState.NOT_INSTALLED,
            "It is not installed on this host.",
            f"atoll agent install {agent.name}",
        )
    keyless = not any(
        provider in providers_with_key for provider in agent.providers
    ) and not has_key(agent, secrets)
    if keyless and agent.name not in logged_in:
        either = " or ".join(agent.providers)
        return AgentReadiness(
            agent,
            ReadinessState.KEY_MISSING,
            f"There is no key of {either} that the broker could add to its requests.",
            f"atoll secret set {agent.providers[0]} --provider {agent.providers[0]}",
        )
    return AgentReadiness(agent, ReadinessState.WORKS)


def has_key(agent: Agent, secrets: Iterable[Secret]) -> bool:
    """Report whether a secret gives the agent a provider. True for one that needs none."""
    if not agent.providers:
        return True
    return any(
        secret.use.target in agent.providers
        if secret.use.purpose is Purpose.PROVIDER
        else any(provider.upper() in (secret.use.variable or "") for provider in agent.providers)
        for secret in secrets
    )
