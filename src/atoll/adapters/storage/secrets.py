"""Tables and rows of secrets, their sealed values beside them."""

import msgspec
from sqlalchemy import (
    Column,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    delete,
    insert,
    or_,
    select,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata
from atoll.domain.errors import Conflict
from atoll.domain.ids import OrgId, PrincipalId, SecretId
from atoll.domain.secrets.secret import Secret
from atoll.ports.store.secrets import Kept, SecretRows
from atoll.ports.vault import Sealed

secrets = Table(
    "secrets",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("holder", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("org_id", "holder", "scope", "name"),
)

secret_values = Table(
    "secret_values",
    metadata,
    Column("secret_id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("wrapped", LargeBinary, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
)

_decoder = msgspec.json.Decoder(Secret)
_VALUE = (secret_values.c.key_id, secret_values.c.wrapped, secret_values.c.sealed)


class SqlSecretRows(SecretRows):
    """The `ports.store.secrets.SecretRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, secret: Secret, sealed: Sealed) -> None:
        """See the port."""
        await self.remove(secret.id)
        row = {
            "id": secret.id,
            "org_id": secret.org_id,
            "owner": secret.owner,
            "holder": secret.holder,
            "scope": secret.scope,
            "name": secret.name,
            "body": msgspec.json.encode(secret).decode(),
        }
        value = {
            "secret_id": secret.id,
            "org_id": secret.org_id,
            "owner": secret.owner,
            "key_id": sealed.key_id,
            "wrapped": sealed.wrapped,
            "sealed": sealed.body,
        }
        try:
            await self._connection.execute(insert(secrets), row)
        except IntegrityError as err:
            raise Conflict(
                f"There is a secret {secret.name} in scope {secret.scope} already: rotate it, or "
                "choose another name.",
                code="name_taken",
                field="name",
            ) from err
        await self._connection.execute(insert(secret_values), value)

    async def get(self, org_id: OrgId, secret_id: SecretId) -> Secret | None:
        """See the port."""
        cursor = await self._connection.execute(
            select(secrets.c.body).where(secrets.c.org_id == org_id, secrets.c.id == secret_id)
        )
        body = cursor.scalar_one_or_none()
        return None if body is None else _decoder.decode(body)

    async def visible(self, org_id: OrgId, owner: PrincipalId) -> list[Secret]:
        """See the port."""
        cursor = await self._connection.execute(
            select(secrets.c.body)
            .where(
                secrets.c.org_id == org_id,
                or_(secrets.c.holder == owner, secrets.c.holder == ""),
            )
            .order_by(secrets.c.name, secrets.c.id)
        )
        return [_decoder.decode(body) for body in cursor.scalars()]

    async def sealed(self, org_id: OrgId, owner: PrincipalId) -> list[Kept]:
        """See the port."""
        cursor = await self._connection.execute(
            select(secrets.c.body, *_VALUE)
            .join(secret_values, secret_values.c.secret_id == secrets.c.id)
            .where(
                secrets.c.org_id == org_id,
                or_(secrets.c.holder == owner, secrets.c.holder == ""),
            )
            .order_by(secrets.c.id)
        )
        return [Kept(_decoder.decode(body), Sealed(*value)) for body, *value in cursor]

    async def everything(self) -> list[Kept]:
        """See the port."""
        cursor = await self._connection.execute(
            select(secrets.c.body, *_VALUE)
            .join(secret_values, secret_values.c.secret_id == secrets.c.id)
            .order_by(secrets.c.id)
        )
        return [Kept(_decoder.decode(body), Sealed(*value)) for body, *value in cursor]

    async def remove(self, secret_id: SecretId) -> None:
        """See the port."""
        await self._connection.execute(
            delete(secret_values).where(secret_values.c.secret_id == secret_id)
        )
        await self._connection.execute(delete(secrets).where(secrets.c.id == secret_id))
