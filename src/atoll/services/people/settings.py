"""Settings of tokens."""

from dataclasses import dataclass
from datetime import timedelta

from atoll.domain.errors import Invalid
from atoll.domain.people.token import TokenLives

MAX_DAYS = 365


@dataclass(frozen=True, slots=True)
class TokenSettings:
    """Settings of tokens. Raises `Invalid` for a bound beyond a year.

    `pat_max_days`: the longest life of a personal access token.
    `pat_default_days`: its life when none is named; at most the longest.
    `sovereign_id`: the name of this installation in the tokens that it signs.
    `sandbox_tokens`: each running sandbox's runtime holds a token of that sandbox.
    `public_url`: the address people use when a proxy runs in front; tokens name it as their issuer.
    """

    pat_max_days: int = 90
    pat_default_days: int = 30
    sovereign_id: str = "atoll"
    sandbox_tokens: bool = False
    public_url: str | None = None

    def __post_init__(self) -> None:
        for name, days in (
            ("pat_max_days", self.pat_max_days),
            ("pat_default_days", self.pat_default_days),
        ):
            if not 1 <= days <= MAX_DAYS:
                raise Invalid(f"{name} lies between 1 and {MAX_DAYS}", field=name)
        if not 1 <= len(self.sovereign_id) <= 100 or not self.sovereign_id.isprintable():
            raise Invalid("sovereign_id has 1 to 100 printable characters", field="sovereign_id")

    @property
    def lives(self) -> TokenLives:
        """Return the lives of new tokens."""
        return TokenLives(timedelta(days=self.pat_default_days), timedelta(days=self.pat_max_days))
