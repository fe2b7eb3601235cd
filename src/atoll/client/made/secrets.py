"""Secrets and their vault: values go in and never come out.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import (
    Call,
    Pairs,
    Transport,
    api_path,
    get,
    omit_absent,
    post,
    put,
    query_of,
)

Purpose = Literal["provider", "custom", "env", "git", "forge", "drive", "extension", "oauth"]

ForgeKind = Literal["github", "gitea"]


class Secret(Shape):
    """A secret, without its value. `last4` is empty for a short one."""

    secret_id = fields.text()
    name = fields.text()
    kind: Field[Purpose] = fields.word()
    scope = fields.text()
    version = fields.number()
    fingerprint = fields.text()
    last4 = fields.text()
    provider = fields.text()
    base_url = fields.text()
    slot: Field[Literal["bearer", "header", "query", "basic"]] = fields.word()
    slot_name = fields.text()
    hosts = fields.texts()
    headers = fields.texts()
    remote = fields.text()
    forge: Field[ForgeKind] = fields.word()
    extension = fields.text()
    push = fields.texts()
    env = fields.text()
    broker_protected = fields.flag()
    owner = fields.text()
    org_id = fields.text()
    created_at = fields.text()
    updated_at = fields.text()


class SecretList(Shape):
    """The secrets, by name."""

    secrets = fields.many(Secret)
    next = fields.text()


class Rotated(Shape):
    """The new master key's id, the number of values under it now, and of removed old keys."""

    key_id = fields.text()
    secrets = fields.number()
    retired = fields.number()


class SecretBody(TypedDict, total=False):
    """The use of a secret, and its value. `broker_protected: false` is the owner's exception:
    the value itself enters sandboxes, in the variable `env`. `forge` and its address `remote`
    make a token for pull requests, which never enters a sandbox. `extension` names the backend
    whose vendor's machines it pays for. `look_alike`: a person read both spellings of a host
    with letters beyond ASCII, which is refused without it."""

    value: Required[str]
    kind: Purpose
    scope: str
    provider: str | None
    base_url: str | None
    slot: Literal["bearer", "header", "query", "basic"]
    slot_name: str
    hosts: list[str]
    headers: list[str]
    remote: str | None
    forge: ForgeKind | None
    extension: str | None
    push: list[str]
    env: str | None
    broker_protected: bool
    look_alike: bool


class NewSecretBody(TypedDict, total=False):
    """A new secret."""

    value: Required[str]
    kind: Purpose
    scope: str
    provider: str | None
    base_url: str | None
    slot: Literal["bearer", "header", "query", "basic"]
    slot_name: str
    hosts: list[str]
    headers: list[str]
    remote: str | None
    forge: ForgeKind | None
    extension: str | None
    push: list[str]
    env: str | None
    broker_protected: bool
    look_alike: bool
    name: Required[str]


class Secrets:
    """The secrets of an installation. Values go in and never come out. Every method raises the
    classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, query: Pairs = ()) -> SecretList:
        """Return the caller's own secrets and the organization's."""
        return self._transport.read_all(SecretList, get("secrets", query=query))

    def create(self, body: NewSecretBody) -> Secret:
        """Set a new secret; one of this name must not exist."""
        return self._transport.read(Secret, post("secrets", value=body))

    def get(self, name: str, *, scope: str | None = None, query: Pairs = ()) -> Secret:
        """Return one secret."""
        return self._transport.read(
            Secret, get("secrets", name, query=query_of(scope=scope) + query)
        )

    def set(self, name: str, body: SecretBody) -> Secret:
        """Set the secret of this name, new or not; repeating the request changes nothing."""
        return self._transport.read(Secret, put("secrets", name, value=body))

    def rotate(self, name: str, value: str, scope: str | None = None, query: Pairs = ()) -> Secret:
        """Replace the secret's value, in every running sandbox at once."""
        return self._transport.read(
            Secret,
            post(
                "secrets",
                name,
                "rotate",
                value=omit_absent(value=value),
                query=query_of(scope=scope) + query,
            ),
        )

    def delete(self, name: str, *, scope: str | None = None, query: Pairs = ()) -> None:
        """Remove the secret, from every running sandbox at once."""
        self._transport.call(
            Call("DELETE", api_path("secrets", name), query_of(scope=scope) + query)
        )

    def rotate_master(self) -> Rotated:
        """Put every value under a new master key and forget the old ones."""
        return self._transport.read(Rotated, post("vault", "rotate-master"))
