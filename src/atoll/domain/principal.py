"""Who is speaking: a principal of an organization, acting as a person, an agent or automation."""

from dataclasses import dataclass
from enum import StrEnum

from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId


class ActorKind(StrEnum):
    """The seed's three actors."""

    PERSON = "adm"
    AGENT = "agt"
    AUTOMATION = "atm"


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller after authentication. `interactive` is true only for a browser session or a
    login credential on a TTY: what approvals will ask for."""

    org_id: OrgId
    id: PrincipalId
    kind: ActorKind
    interactive: bool = False


LOCAL_PERSON = Principal(PERSONAL_ORG, PrincipalId("person"), ActorKind.PERSON, interactive=True)
"""The one person of single-person mode."""

SYSTEM = Principal(PERSONAL_ORG, PrincipalId("atoll"), ActorKind.AUTOMATION)
"""Atoll itself: timers, adoption, the death watch."""
