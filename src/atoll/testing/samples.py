"""Samples that suites, tests and measurements store: a moment, persons, an event, a sandbox."""

from datetime import UTC, datetime, timedelta

from atoll.domain.event import EventDraft
from atoll.domain.ids import PERSONAL_ORG, EventId, PrincipalId, SandboxId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.profile.profile import Profile
from atoll.domain.sandboxes.sandbox import Attachment, Sandbox, SandboxRepo
from atoll.domain.wall.isolation import Isolation
from atoll.wire.words.sandboxes import Scope, State
from atoll.wire.words.walls import WORKSPACE, IsolationLevel

NOW = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
OWNER = PrincipalId("person")
OTHER = PrincipalId("other")


def draft(number: int, *, stream: str = "auth", owner: PrincipalId = OWNER) -> EventDraft:
    """Return a login event."""
    return EventDraft(
        id=EventId(f"ev_{stream}_{owner}_{number}"),
        stream=stream,
        event_type="auth.login",
        at=NOW,
        org_id=PERSONAL_ORG,
        owner=owner,
        actor=LOCAL_PERSON,
        reason=None,
        payload={"how": f"ticket {number}"},
    )


def sandbox(name: str, *, owner: PrincipalId = OWNER, number: int = 0) -> Sandbox:
    """Return a ready sandbox with something in every field that is not plain text."""
    at = NOW + timedelta(microseconds=number)
    isolation = Isolation(IsolationLevel.CONTAINER, "test", ("memory: none",), host_uid=7)
    return Sandbox(
        id=SandboxId(f"sb_{owner}_{name}"),
        org_id=PERSONAL_ORG,
        owner=owner,
        name=name,
        profile=Profile("profile.x", "1.0.0", env=(("A", "ü"),)),
        scope=Scope.SESSION,
        ttl_seconds=60,
        created_at=at,
        updated_at=at,
        expires_at=at + timedelta(seconds=60),
        max_expires_at=at + timedelta(seconds=600),
        state=State.READY,
        repos=(SandboxRepo("https://example.org/o/r", "b", None, WORKSPACE),),
        attachment=Attachment((("pid", "1"),), "unix:/x", "secret", isolation),
        ready_at=at,
    )
