import json

import jsonschema_rs
import pytest

from atoll.domain.event_kind import KINDS
from atoll.domain.event_schema import envelope_schema, event_schemas, payload_schema
from tests.places import ROOT

EVENT = {
    "id": "ev_1",
    "position": 412,
    "stream": "sandbox:sb_1",
    "seq": 3,
    "event_type": "sandbox.ready",
    "event_version": 1,
    "at": "2026-01-01T12:00:00Z",
    "org_id": "personal",
    "actor": {"kind": "atm", "id": "atoll"},
    "reason": None,
    "payload": {"sandbox_id": "sb_1", "name": "r-fix", "generation": 1, "state": "ready"},
}


def test_document_is_a_schema_and_the_published_one() -> None:
    document = event_schemas()
    jsonschema_rs.meta.validate(document)
    published = json.loads((ROOT / "docs" / "program" / "event-schemas.json").read_text())
    assert published == json.loads(json.dumps(document)), "run scripts/openapi"


def test_event_fits_its_kind_only() -> None:
    validator = jsonschema_rs.Draft202012Validator(event_schemas())
    assert validator.is_valid(EVENT)
    wrong: list[dict[str, object]] = [
        {"event_type": "sandbox.stopped", "event_version": 2},
        {"event_type": "no.such"},
        {"payload": {**EVENT["payload"], "generation": "1"}},  # type: ignore[dict-item]
        {"payload": {**EVENT["payload"], "more": 1}},  # type: ignore[dict-item]
        {"payload": {}},
        {"actor": {"kind": "root", "id": "x"}},
    ]
    assert not any(validator.is_valid({**EVENT, **one}) for one in wrong)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_kind_requires_its_fields_and_allows_its_optional_ones(kind: object) -> None:
    found = KINDS[kind.name]  # type: ignore[attr-defined]
    schema = payload_schema(found)
    assert set(schema["required"]) == found.fields  # type: ignore[arg-type]
    assert set(schema["properties"]) == (found.fields | found.optional) - {"*"}  # type: ignore[arg-type]
    assert schema["additionalProperties"] is ("*" in found.optional)
    assert envelope_schema(found)["title"] == found.name
