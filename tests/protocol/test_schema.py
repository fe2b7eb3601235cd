"""Rules of `proto/` that its linter does not know: proto/README.md gives their reasons."""

import re
import tomllib

import pytest
from google.protobuf.descriptor import FieldDescriptor

from tests.places import ROOT
from tests.protocol.schema import FILES, fields, messages, words

SECRET = re.compile(
    "secret|passw|token|api_?key|private|credential|cookie|bearer|verifier|authori[sz]ation"
    "|device_?code|auth_?code|nonce|signature|jwt|redirect|callback_ur[il]"
)
#: References and counts, and nothing that opens a door.
HARMLESS = {"token_ref", "input_tokens", "output_tokens", "cached_tokens"}
OPAQUE = {"params", "result", "data"}
TEXT_IN_JSON = {
    FieldDescriptor.TYPE_INT64,
    FieldDescriptor.TYPE_UINT64,
    FieldDescriptor.TYPE_SINT64,
    FieldDescriptor.TYPE_FIXED64,
    FieldDescriptor.TYPE_SFIXED64,
    FieldDescriptor.TYPE_BYTES,
}


def test_the_five_files_are_there() -> None:
    found = {path.stem for path in (ROOT / "proto/atoll/protocol/v1").iterdir()}
    assert found == {f"codex_{name}" for name in FILES}


def test_no_field_can_hold_a_secret() -> None:
    named = {field.name for field in fields()}
    assert {name for name in named if SECRET.search(name)} == HARMLESS


@pytest.mark.parametrize("name", ["access_token", "apiKey", "code_verifier", "device_code"])
def test_name_of_a_secret_is_known(name: str) -> None:
    assert SECRET.search(re.sub("([A-Z])", r"_\1", name).lower())


def test_every_field_has_its_own_name_in_json() -> None:
    assert {field.full_name for field in fields() if field.json_name != field.name} == set()


def test_no_number_becomes_text_in_json() -> None:
    assert {field.full_name for field in fields() if field.type in TEXT_IN_JSON} == set()


def test_seq_is_a_uint32() -> None:
    types = {one.full_name: one.type for one in fields() if re.search("(^|_)seq$", one.name)}
    assert len(types) >= 5 and set(types.values()) == {FieldDescriptor.TYPE_UINT32}


def test_opaque_json_is_a_string_and_never_a_struct() -> None:
    strangers = {
        field.message_type.full_name
        for field in fields()
        if field.message_type and field.message_type.file not in FILES.values()
    }
    assert strangers == {"google.protobuf.Timestamp"}
    opaque = [field for field in fields() if field.name in OPAQUE]
    assert {field.name for field in opaque} == OPAQUE
    assert {field.type for field in opaque} == {FieldDescriptor.TYPE_STRING}


def test_every_enum_begins_with_a_value_that_is_never_sent() -> None:
    holders = [one for file in FILES.values() for one in file.message_types_by_name.values()]
    first = {
        holder.name: holder.enum_types_by_name["Value"].values_by_number[0].name
        for holder in holders
        if not holder.fields and holder.enum_types
    }
    # A login's method is a number in JSON, and 0 is one of the three.
    assert first.pop("LoginMethod") == "browser"
    assert set(first.values()) == {"unspecified"}


def test_payload_of_an_event_is_one_of_the_kinds() -> None:
    kinds = "started request.received response error event heartbeat lost recovered handed_over"
    payload = messages()["WorkerEventPayload"].oneofs_by_name["payload"]
    members = {kind.replace(".", "_") for kind in [*kinds.split(), "stopped", "torn_down"]}
    assert {field.name for field in payload.fields} == members


def test_words_of_the_contract_are_spelled_literally() -> None:
    literal = {
        "ExecutionMode": "desktop sandbox",
        "WorkerStatus": "starting running stopping stopped failed",
        "HeartbeatState": "fresh stale missing stopped failed",
        "TeardownPolicy": "immediate retain",
        "SummaryStatus": "in_sync lagging",
        "WorkerErrorCode": "forbidden invalid_request unsupported_method conflict"
        " worker_unavailable timeout internal_error outcome_unknown",
    }
    assert {name: " ".join(list(words(name))[1:]) for name in literal} == literal
    assert words("LoginMethod") == {"browser": 0, "device_code": 1, "api_key": 2}
    assert {"cloudflare_sandbox", "daytona", "openagents_gcp", "in_memory"} <= set(words("Backend"))


def test_every_extension_that_comes_with_atoll_is_a_backend() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {name.replace("-", "_") for name in project["entry-points"]["atoll.extensions"]}
    backends = set(words("Backend")) - {"unspecified", "desktop", "extension", "openagents_gcp"}
    assert backends == named - {"cloudflare"} | {"cloudflare_sandbox"}


def test_words_of_walls_are_those_of_sandboxes() -> None:
    from atoll.wire.words.routes import ExecutionMode
    from atoll.wire.words.walls import IsolationLevel

    assert list(words("IsolationLevel"))[1:] == [level.value for level in IsolationLevel]
    assert set(words("ExecutionMode")) - {"unspecified"} == {mode.value for mode in ExecutionMode}
