"""Secrets and their vault: values go in and never come out.

No answer holds a value. A fingerprint is shown and, for a longer value, its last four characters.
"""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import FIRST_PAGE, Address, Paging, Word
from atoll.wire.api.operation import Answer, Area, SealedRequest, operation
from atoll.wire.words.forges import ForgeKind
from atoll.wire.words.secrets import MAX_LISTED, MAX_VALUE, PERSON_SCOPE, Purpose, Slot

SecretRef = Annotated[
    str, Meta(description="A secret's id or its name.", min_length=1, max_length=100)
]
ScopeQuery = Annotated[
    Annotated[str, Meta(max_length=200)] | None,
    Meta(description="Its scope, when several scopes have a secret of this name."),
]
Value = Annotated[str, Meta(min_length=1, max_length=MAX_VALUE)]
Words = Annotated[list[Word], Meta(max_length=MAX_LISTED)]


class ValueBody(SealedRequest):
    """A value, in the only direction it may go."""

    value: Value


class SecretBody(SealedRequest):
    """The use of a secret, and its value.

    `broker_protected: false` is the owner's exception: the value itself enters sandboxes, in the
    variable `env`. `forge` and its address `remote` make a token for pull requests, which never
    enters a sandbox. `extension` names the backend whose vendor's machines it pays for.
    `look_alike`: a person read both spellings of a host with letters beyond
    ASCII, which is refused without it.
    """

    value: Value
    kind: Purpose = Purpose.CUSTOM
    scope: Word = PERSON_SCOPE
    provider: Word | None = None
    base_url: Address | None = None
    slot: Slot = "bearer"
    slot_name: Annotated[str, Meta(max_length=200)] = ""
    hosts: Words = []
    headers: Words = []
    remote: Address | None = None
    forge: ForgeKind | None = None
    extension: Word | None = None
    push: Words = []
    env: Word | None = None
    broker_protected: bool = True
    look_alike: bool = False


class NewSecretBody(SecretBody, kw_only=True):
    """A new secret."""

    name: Word


class SecretView(Answer):
    """A secret, without its value. `last4` is empty for a short one."""

    secret_id: str
    name: str
    kind: Purpose
    scope: str
    version: int
    fingerprint: str
    last4: str
    provider: str | None
    base_url: str | None
    slot: Slot
    slot_name: str
    hosts: list[str]
    headers: list[str]
    remote: str | None
    forge: ForgeKind | None
    extension: str | None
    push: list[str]
    env: str | None
    broker_protected: bool
    owner: str
    org_id: str
    created_at: str
    updated_at: str


class SecretList(Answer):
    """The secrets, by name."""

    secrets: list[SecretView]
    next: str | None


class RotatedView(Answer):
    """The new master key's id, the number of values under it now, and of removed old keys."""

    key_id: str
    secrets: int
    retired: int


_FAILURES = (404, 409, 413, 502)


class Secrets(Area):
    """The secrets of an installation. Values go in and never come out."""

    tag = "secrets"
    needs = "secret.manage"

    @operation("GET /v1/secrets", name="list_secrets", needs="secret.read")
    def list(self, *, page: Paging = FIRST_PAGE) -> SecretList:
        """Return the caller's own secrets and the organization's."""

    @operation("POST /v1/secrets", name="create_secret", status=201, problems=_FAILURES)
    def create(self, body: NewSecretBody) -> SecretView:
        """Set a new secret; one of this name must not exist."""

    @operation(
        "GET /v1/secrets/{secret}", name="get_secret", needs="secret.read", problems=(404, 409)
    )
    def get(self, secret: SecretRef, *, scope: ScopeQuery = None) -> SecretView:
        """Return one secret."""

    @operation("PUT /v1/secrets/{secret}", name="set_secret", problems=_FAILURES)
    def set(self, secret: SecretRef, body: SecretBody) -> SecretView:
        """Set the secret of this name, new or not; repeating the request changes nothing."""

    @operation("POST /v1/secrets/{secret}/rotate", name="rotate_secret", problems=_FAILURES)
    def rotate(self, secret: SecretRef, body: ValueBody, *, scope: ScopeQuery = None) -> SecretView:
        """Replace the secret's value, in every running sandbox at once."""

    @operation("DELETE /v1/secrets/{secret}", name="remove_secret", status=204, problems=(404, 409))
    def delete(self, secret: SecretRef, *, scope: ScopeQuery = None) -> None:
        """Remove the secret, from every running sandbox at once."""

    @operation(
        "POST /v1/vault/rotate-master",
        name="rotate_master",
        needs="system.manage",
        problems=(409, 502),
    )
    def rotate_master(self) -> RotatedView:
        """Put every value under a new master key and forget the old ones."""
