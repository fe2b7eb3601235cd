"""Settings of logins at a provider: the section `auth`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta

import msgspec

from atoll.domain.errors import Invalid
from atoll.domain.people.realm import Realm
from atoll.wire.words.people import MAX_REALMS

MODES = ("local", "oidc")
MAX_SESSION_DAYS = 90
MAX_REFRESH_MINUTES = 24 * 60


class AuthOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Values of the section `auth`."""

    mode: str = "local"
    realms: tuple[dict[str, object], ...] = ()
    session_days: int = 14
    idle_hours: int = 72
    refresh_minutes: int = 10


@dataclass(frozen=True, slots=True)
class SessionLives:
    """The longest life of a session, its longest time without use, and the interval at which the
    provider is asked again."""

    whole: timedelta = timedelta(days=14)
    idle: timedelta = timedelta(hours=72)
    refresh: timedelta = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class AuthSettings:
    """Settings of logins. Raises `Invalid` for a mode there is not, for `oidc` without a realm, and
    for two realms of one name.

    `auth`: the table with `mode`, `realms`, `session_days`, `idle_hours`, `refresh_minutes`.
    """

    auth: AuthOptions = field(default_factory=AuthOptions)

    def __post_init__(self) -> None:
        own = self.auth
        if own.mode not in MODES:
            raise _settings_error(f"mode is one of {', '.join(MODES)}")
        realms = self.realms
        if own.mode == "oidc" and not 1 <= len(realms) <= MAX_REALMS:
            raise _settings_error(f"mode = 'oidc' needs 1 to {MAX_REALMS} realms")
        if len(realms) != len(own.realms):
            raise _settings_error("realms have different names")
        _check_between("session_days", own.session_days, MAX_SESSION_DAYS)
        _check_between("idle_hours", own.idle_hours, MAX_SESSION_DAYS * 24)
        _check_between("refresh_minutes", own.refresh_minutes, MAX_REFRESH_MINUTES)

    @property
    def realms(self) -> Mapping[str, Realm]:
        """Return the realms by name; of single-person mode too, which does not use them."""
        return {realm.realm: realm for realm in map(_realm, self.auth.realms)}

    @property
    def used_realms(self) -> Mapping[str, Realm]:
        """Return the realms by which people log in."""
        return self.realms if self.auth.mode == "oidc" else {}

    @property
    def lives(self) -> SessionLives:
        """Return the lives of sessions."""
        own = self.auth
        return SessionLives(
            timedelta(days=own.session_days),
            timedelta(hours=own.idle_hours),
            timedelta(minutes=own.refresh_minutes),
        )


def _realm(given: Mapping[str, object]) -> Realm:
    unknown = sorted(given.keys() - {setting.name for setting in fields(Realm)})
    if unknown:
        raise _settings_error(f"a realm has no setting {unknown[0][:60]!r}")
    try:
        return msgspec.convert(given, Realm)
    except msgspec.ValidationError as error:
        raise _settings_error(f"a realm is wrong: {error}") from error


def _check_between(name: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise _settings_error(f"{name} lies between 1 and {most}")


def _settings_error(rule: str) -> Invalid:
    return Invalid(f"auth: {rule}", field="auth")
