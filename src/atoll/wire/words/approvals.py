"""Words of approvals."""

from enum import StrEnum


class ApprovalState(StrEnum):
    """The state of an approval. Only `pending` can be decided, only `granted` revoked."""

    PENDING = "pending"
    GRANTED = "granted"
    USED = "used"
    DENIED = "denied"
    REVOKED = "revoked"
    EXPIRED = "expired"


class GrantScope(StrEnum):
    """The scope of a grant: one request, this sandbox, or every sandbox that has the secret."""

    ONCE = "once"
    SANDBOX = "sandbox"
    ORGANIZATION = "organization"
