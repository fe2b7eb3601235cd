"""Every event that a test appends fits the published schema of its kind."""

from collections.abc import Mapping
from functools import cache

import jsonschema_rs
import msgspec
import pytest

from atoll.adapters.storage import events as rows
from atoll.domain.event import Json
from atoll.domain.event_kind import check
from atoll.domain.event_kinds.kind import EventKind
from atoll.domain.event_schema import payload_schema


@cache
def _validator(kind: EventKind) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(payload_schema(kind))


def checked(event_type: str, payload: Mapping[str, Json]) -> EventKind:
    """Return the kind of `event_type`. Raises `AssertionError` for a payload against its schema."""
    kind = check(event_type, payload)
    try:
        _validator(kind).validate(msgspec.json.decode(msgspec.json.encode(payload)))
    except jsonschema_rs.ValidationError as wrong:
        raise AssertionError(f"{event_type} does not fit its schema: {wrong}") from wrong
    return kind


@pytest.fixture(autouse=True)
def events_fit_their_schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check every event of a test."""
    monkeypatch.setattr(rows, "check", checked)
