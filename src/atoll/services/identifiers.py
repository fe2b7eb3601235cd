"""Identifiers: new ids from injected randomness, and checks of ids that clients send."""

import re
import secrets
from collections.abc import Callable

from atoll.domain.errors import NotFound
from atoll.domain.ids import (
    ID_ENTROPY_BYTES,
    AgentLoginId,
    ApprovalId,
    CommentId,
    DashboardId,
    DesktopId,
    EventId,
    GuestId,
    HookId,
    HostId,
    InvitationId,
    MentionId,
    OrgId,
    PreviewId,
    PrincipalId,
    PushSubscriptionId,
    RouteId,
    SandboxId,
    SecretId,
    SessionId,
    ShareId,
    TokenId,
    WebhookId,
    WorkerKey,
    spell,
)
from atoll.domain.webhooks.signature import SIGNING_KEY_BYTES
from atoll.wire.contract.call import PathId

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def checked_id(text: str, *, noun: str) -> PathId:
    """Return `text` if it can be an id. Raises `NotFound`."""
    if not _ID.match(text):
        raise NotFound(f"There is no such {noun} here; list them to see which there are.")
    return PathId(text)


class Identifiers:
    """A generator of new ids; tests inject their own entropy."""

    def __init__(self, entropy: Callable[[int], bytes] = secrets.token_bytes) -> None:
        self._entropy = entropy

    def sandbox(self) -> SandboxId:
        """Return a new sandbox id."""
        return SandboxId(spell("sb", self._entropy(ID_ENTROPY_BYTES)))

    def event(self) -> EventId:
        """Return a new event id."""
        return EventId(spell("ev", self._entropy(ID_ENTROPY_BYTES)))

    def secret(self) -> SecretId:
        """Return a new secret id."""
        return SecretId(spell("sec", self._entropy(ID_ENTROPY_BYTES)))

    def agent_login(self) -> AgentLoginId:
        """Return a new id of an agent's login."""
        return AgentLoginId(spell("alg", self._entropy(ID_ENTROPY_BYTES)))

    def approval(self) -> ApprovalId:
        """Return a new approval id."""
        return ApprovalId(spell("ap", self._entropy(ID_ENTROPY_BYTES)))

    def kept(self) -> str:
        """Return a new id of a kept worktree."""
        return spell("kept", self._entropy(ID_ENTROPY_BYTES))

    def share(self) -> ShareId:
        """Return a new id of a share link; not its secret."""
        return ShareId(spell("sh", self._entropy(ID_ENTROPY_BYTES)))

    def dashboard(self) -> DashboardId:
        """Return a new dashboard id."""
        return DashboardId(spell("dsh", self._entropy(ID_ENTROPY_BYTES)))

    def comment(self) -> CommentId:
        """Return a new id of a comment."""
        return CommentId(spell("cmt", self._entropy(ID_ENTROPY_BYTES)))

    def mention(self) -> MentionId:
        """Return a new id of a mention."""
        return MentionId(spell("mnt", self._entropy(ID_ENTROPY_BYTES)))

    def guest(self) -> GuestId:
        """Return a new guest's principal id."""
        return GuestId(spell("guest", self._entropy(ID_ENTROPY_BYTES)))

    def push_subscription(self) -> PushSubscriptionId:
        """Return a new id of a browser's push subscription."""
        return PushSubscriptionId(spell("push", self._entropy(ID_ENTROPY_BYTES)))

    def organization(self) -> OrgId:
        """Return a new organization's id."""
        return OrgId(spell("org", self._entropy(ID_ENTROPY_BYTES)))

    def service_account(self) -> PrincipalId:
        """Return a new service account's principal id."""
        return PrincipalId(spell("svc", self._entropy(ID_ENTROPY_BYTES)))

    def invitation(self) -> InvitationId:
        """Return a new id of an invitation; not its secret."""
        return InvitationId(spell("inv", self._entropy(ID_ENTROPY_BYTES)))

    def hook(self) -> HookId:
        """Return a new hook id."""
        return HookId(spell("hook", self._entropy(ID_ENTROPY_BYTES)))

    def webhook(self) -> WebhookId:
        """Return a new webhook id."""
        return WebhookId(spell("whk", self._entropy(ID_ENTROPY_BYTES)))

    def preview(self) -> PreviewId:
        """Return a new preview id."""
        return PreviewId(spell("pv", self._entropy(ID_ENTROPY_BYTES)))

    def wake(self) -> str:
        """Return a new id of a wake."""
        return spell("wake", self._entropy(ID_ENTROPY_BYTES))

    def signing_key(self) -> bytes:
        """Return the 32 random bytes of a webhook's new secret."""
        return self._entropy(SIGNING_KEY_BYTES)

    def token(self) -> TokenId:
        """Return a new id of a personal access token; not its text."""
        return TokenId(spell("tok", self._entropy(ID_ENTROPY_BYTES)))

    def person(self) -> PrincipalId:
        """Return a new principal id of a person who logs in at a provider."""
        return PrincipalId(spell("usr", self._entropy(ID_ENTROPY_BYTES)))

    def route(self) -> RouteId:
        """Return a new id of a route's decision."""
        return RouteId(spell("rt", self._entropy(ID_ENTROPY_BYTES)))

    def worker(self) -> WorkerKey:
        """Return a new key of a worker."""
        return WorkerKey(spell("wk", self._entropy(ID_ENTROPY_BYTES)))

    def desktop(self) -> DesktopId:
        """Return a new id of a linked desktop."""
        return DesktopId(spell("dk", self._entropy(ID_ENTROPY_BYTES)))

    def host(self) -> HostId:
        """Return a new host id."""
        return HostId(spell("ho", self._entropy(ID_ENTROPY_BYTES)))

    def session(self) -> SessionId:
        """Return a new id of a browser's session; not its secret."""
        return SessionId(spell("ses", self._entropy(ID_ENTROPY_BYTES)))
