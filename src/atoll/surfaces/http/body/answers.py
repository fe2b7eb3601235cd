"""Responses: values as JSON, and instants as the API writes them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from starlette.responses import Response

_encoder = msgspec.json.Encoder()


class Json(Response):
    """A JSON response, encoded once: dicts, lists, dataclasses and msgspec values."""

    media_type = "application/json"

    def __init__(
        self,
        content: Any,
        status_code: int = 200,
        *,
        headers: Mapping[str, str] | None = None,
        media_type: str = "application/json",
    ) -> None:
        super().__init__(content, status_code, dict(headers or {}), media_type)

    def render(self, content: Any) -> bytes:
        """Return the value as JSON; bytes are JSON already."""
        return content if isinstance(content, bytes) else _encoder.encode(content)


NO_CONTENT = 204


def no_content() -> Response:
    """Return the empty response 204."""
    return Response(status_code=NO_CONTENT)


def instant(at: datetime | None) -> str | None:
    """Return an instant as RFC 3339 in UTC with `Z`, or None."""
    if at is None:
        return None
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
