"""Which requests have a provider fetch an address or call somebody."""

import json

import pytest

from atoll.domain.broker.fetching import MAX_DEPTH, Unreadable, fetching_field, fetching_parameter

AT = "https://inner.example/x"
JSON = "application/json; charset=utf-8"


def found(body: object, **more: bool) -> str | None:
    return fetching_field(json.dumps(body).encode(), JSON, **more)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"messages": [{"content": [{"type": "image_url", "image_url": {"url": AT}}]}]}, "url"),
        ({"input": [{"content": [{"type": "input_image", "image_url": AT}]}]}, "image_url"),
        ({"input": [{"content": [{"type": "input_file", "file_url": AT}]}]}, "file_url"),
        ({"messages": [{"content": [{"source": {"type": "url", "url": " HTTPS://x"}}]}]}, "url"),
        ({"contents": [{"parts": [{"fileData": {"fileUri": "gs://b/o"}}]}]}, "fileUri"),
        ({"tools": [{"type": "mcp", "server_label": "x"}]}, "type"),
        ({"tools": [{"server_url": AT}]}, "server_url"),
        ({"mcp_servers": [{"type": "url", "name": "x"}]}, "mcp_servers"),
        ({"tools": [{"type": "web_fetch_20250910"}]}, "type"),
        ({"tools": [{"googleSearch": {"x": 1}}]}, "googleSearch"),
        ({"version": "v", "input": {"prompt": "x"}, "webhook": AT}, "webhook"),
        ({"callback": AT, "url": "y"}, "callback"),
    ],
)
def test_field_that_fetches_or_calls_is_found(body: object, field: str) -> None:
    assert found(body) == field


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "user", "content": f"look at {AT}"}]},
        {"messages": [{"content": [{"image_url": {"url": "data:image/png;base64,AA=="}}]}]},
        {"messages": [{"content": [{"type": "tool_use", "name": "f", "input": {"url": AT}}]}]},
        {"tools": [{"type": "function", "input_schema": {"properties": {"url": {"x": AT}}}}]},
        {"contents": [{"parts": [{"functionCall": {"name": "f", "args": {"url": AT}}}]}]},
        {"webhook": None, "mcp_servers": [], "callback": "", "type": 1, "url": 7},
        [[1, "x"], None],
    ],
)
def test_plain_request_and_what_was_said_to_a_tool_pass(body: object) -> None:
    assert found(body) is None


def test_name_said_twice_counts_both_times() -> None:
    body = b'{"image_url": "https://x", "image_url": "data:,"}'
    assert fetching_field(body, JSON) == "image_url"


def test_any_address_is_one_where_models_name_their_own_fields() -> None:
    assert found({"input": {"image": AT}}) is None
    assert found({"input": {"image": AT}}, any_address=True) == "image"
    assert found({"input": {"images": ["x", AT]}}, any_address=True) == "a list"
    assert found({"type": "tool_use", "input": {"image": AT}}, any_address=True) == "image"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{", JSON), (b"\xff\xfe{\0}\0", JSON), (b"url=https://x", "text/plain"), (b"x", ""),
        (b"{}x", "audio/wav") , (b"[" * 100_000, JSON),
        (b'{"a":' * (MAX_DEPTH + 2) + b"1" + b"}" * (MAX_DEPTH + 2), JSON),
    ],
)  # fmt: skip
def test_body_that_cannot_be_judged_is_told_apart(body: bytes, kind: str) -> None:
    with pytest.raises(Unreadable):
        assert fetching_field(body.replace(b"{}x", b"{} x"), kind)


def test_sound_and_empty_bodies_pass() -> None:
    assert fetching_field(b"RIFF....", "audio/wav") is None
    assert fetching_field(b" \r\n", JSON) is None


@pytest.mark.parametrize(
    ("name", "refused"),
    [('name="cloud_storage_url"', True), ("name=callback", True), ('name="model"', False)],
)
def test_form_is_judged_by_the_names_of_its_parts(name: str, refused: bool) -> None:
    body = f"--b\r\nContent-Disposition: form-data; {name}\r\n\r\nhttps://x\r\n--b--\r\n".encode()
    assert (fetching_field(body, "multipart/form-data; boundary=b") is not None) is refused


def test_parameter_that_calls_is_found() -> None:
    assert fetching_parameter("model=x&call%62ack=https://x") == "callback"
    assert fetching_parameter("model=x;url=https%3A%2F%2Fx") == "url"
    assert fetching_parameter("model=x&callback=&tier=1") is None
    assert fetching_parameter("") is None
