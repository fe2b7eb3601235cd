"""Events of organizations: in the stream of the organization, for all its members to read."""

from atoll.domain.event import EventDraft, Json
from atoll.domain.ids import EVERY_MEMBER, OrgId
from atoll.domain.people.organization import Invitation, Member, Organization
from atoll.domain.people.principal import Principal
from atoll.services.ground import Ground


def org_stream(org_id: OrgId) -> str:
    """Return the name of an organization's stream."""
    return f"org:{org_id}"


def org_event(ground: Ground, actor: Principal, kind: str, within: Organization) -> EventDraft:
    """Return an event about an organization itself."""
    payload: dict[str, Json] = {"org": within.id, "slug": within.slug, "name": within.name}
    return _draft(ground, actor, kind, within.id, payload=payload)


def member_event(
    ground: Ground, actor: Principal, kind: str, member: Member, **more: Json
) -> EventDraft:
    """Return an event about a member."""
    payload: dict[str, Json] = {
        "org": member.org_id,
        "member": member.id,
        "kind": member.kind.value,
        "name": member.name,
        "role": member.role.value,
        **more,
    }
    return _draft(ground, actor, kind, member.org_id, payload=payload)


def invitation_event(
    ground: Ground, actor: Principal, kind: str, invitation: Invitation
) -> EventDraft:
    """Return an event about an invitation."""
    payload: dict[str, Json] = {
        "org": invitation.org_id,
        "invitation": invitation.id,
        "role": invitation.role.value,
    }
    if invitation.email:
        payload["email"] = invitation.email
    return _draft(ground, actor, kind, invitation.org_id, payload=payload)


def _draft(
    ground: Ground, actor: Principal, kind: str, org_id: OrgId, *, payload: dict[str, Json]
) -> EventDraft:
    return EventDraft(
        id=ground.ids.event(),
        stream=org_stream(org_id),
        event_type=kind,
        at=ground.clock.now(),
        org_id=org_id,
        owner=EVERY_MEMBER,
        actor=actor,
        reason=None,
        payload=payload,
    )
