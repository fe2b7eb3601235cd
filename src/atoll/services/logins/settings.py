"""Settings of agents' logins."""

from dataclasses import dataclass
from datetime import timedelta

from atoll.domain.errors import Invalid

MAX_EARLY_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class AgentLoginSettings:
    """Settings of agents' logins. Raises `Invalid` for a time that is out of bounds.

    `agent_login_early_seconds`: how long before its end a token is refreshed; at most half its
    life.
    """

    agent_login_early_seconds: int = 300

    def __post_init__(self) -> None:
        if not 1 <= self.agent_login_early_seconds <= MAX_EARLY_SECONDS:
            raise Invalid(
                f"agent_login_early_seconds is 1 to {MAX_EARLY_SECONDS}",
                field="agent_login_early_seconds",
            )

    @property
    def early(self) -> timedelta:
        """Return the time before a token's end at which it is refreshed."""
        return timedelta(seconds=self.agent_login_early_seconds)
