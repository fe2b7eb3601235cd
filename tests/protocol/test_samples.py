"""Samples of every message: they parse strictly, and come back as they were."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, EnumDescriptor
from google.protobuf.message import Message

from atoll.wire.opaque import as_json, as_text
from tests.places import TESTS
from tests.protocol.schema import FILES, messages, new

OPAQUE = (
    '{"n":9007199254740993,"f":1.0, "big":1e999,"k":[ ],"k":"\\u00e9\\/"}',
    '"\N{GRINNING FACE}\u2028\\u0000"',
    "null",
    "-0.0",
    "123456789012345678901234567890",
)


def _samples() -> list[tuple[str, Mapping[str, Any]]]:
    texts = [(TESTS / f"fixtures/protocol/{name}.json").read_text() for name in FILES]
    return [(one["message"], one["json"]) for text in texts for one in json.loads(text)]


SAMPLES = _samples()


def _parsed(name: str, document: Mapping[str, Any] | bytes) -> Message:
    text = document.decode() if isinstance(document, bytes) else json.dumps(document)
    return json_format.Parse(text, new(name))


@pytest.mark.parametrize(("name", "document"), SAMPLES)
def test_sample_parses_strictly_and_comes_back(name: str, document: Mapping[str, Any]) -> None:
    message = _parsed(name, document)
    assert json.loads(json_format.MessageToJson(message)) == document
    sent = new(name)
    sent.ParseFromString(message.SerializeToString())
    assert json.loads(json_format.MessageToJson(sent)) == document


def _seen(descriptor: Descriptor, document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields and the enum's values that a document has."""
    for field in descriptor.fields:
        if field.name not in document:
            continue
        yield field.full_name
        value = document[field.name]
        values = value if isinstance(value, list) else [value]
        if field.enum_type:
            yield from (f"{field.enum_type.full_name}.{one}" for one in values)
        elif field.message_type and field.message_type in messages().values():
            yield from (name for one in values for name in _seen(field.message_type, one))


def _all_values() -> Iterator[str]:
    used: set[EnumDescriptor] = {
        field.enum_type for one in messages().values() for field in one.fields if field.enum_type
    }
    for enum in used:
        yield from (f"{enum.full_name}.{one.name}" for one in enum.values if one.number)


def test_samples_have_every_field_and_every_word() -> None:
    seen = {found for name, document in SAMPLES for found in _seen(messages()[name], document)}
    fields = {field.full_name for one in messages().values() for field in one.fields}
    assert fields | set(_all_values()) == seen


def test_type_of_each_sampled_event_names_its_payload() -> None:
    events = [document for name, document in SAMPLES if name == "WorkerEvent"]
    for event in events:
        kind = event["event_type"].removeprefix("worker.").replace(".", "_")
        assert list(event["payload"]) == [kind]


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("WorkerSnapshot", {"worker_id": "w", "stranger": 1}),
        ("WorkerSnapshot", {"workerId": "w", "worker_id": "w"}),
        ("WorkerSnapshot", {"status": "asleep"}),
        ("WorkerSnapshot", {"status": "RUNNING"}),
        ("WorkerSnapshot", {"backend": "ext.docker"}),
        ("WorkerSnapshot", {"latest_seq": 2**32}),
        ("WorkerSnapshot", {"latest_seq": -1}),
        ("WorkerSnapshot", {"latest_seq": 1.5}),
        ("WorkerSnapshot", {"created_at": "yesterday"}),
        ("SendRequest", {"request": {"request_id": "r", "method": "m", "params": {"a": 1}}}),
        ("WorkerEventPayload", {"started": {}, "stopped": {}}),
        ("TokenReference", {"token_ref": "secret:1", "access_token": "eyJ"}),
    ],
)
def test_document_outside_of_the_schema_is_refused(name: str, document: Mapping[str, Any]) -> None:
    with pytest.raises(json_format.ParseError):
        _parsed(name, document)


@pytest.mark.parametrize("params", OPAQUE)
def test_params_of_a_request_come_back_byte_for_byte(params: str) -> None:
    asked = b'{"request":{"request_id":"r1","method":"turn/start","params":%s}}' % params.encode()
    message = _parsed("SendRequest", as_text(asked, "request", "params"))
    sent = new("SendRequest")
    sent.ParseFromString(message.SerializeToString())
    answered = json_format.MessageToJson(sent, indent=None).encode()
    assert json.loads(answered)["request"]["params"] == params
    held = as_json(answered, "request", "params")
    assert b'"params":%s}' % params.encode() in held
