import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.http.usage import HEAD_BYTES, TAIL_BYTES, UsageReader, read_model


def read(body: bytes, step: int = 7) -> UsageReader:
    reader = UsageReader()
    for at in range(0, len(body), step):
        reader.feed(body[at : at + step])
    return reader


ANSWER = b'{"model": "gpt-5-mini", "usage": {"prompt_tokens": 12, "completion_tokens" : 5}}'


@given(st.integers(1, 200))
def test_usage_of_an_answer_in_pieces(step: int) -> None:
    reader = read(ANSWER, step)
    assert reader.counts() == {"prompt_tokens": 12, "completion_tokens": 5}
    assert (reader.model(), reader.bytes) == ("gpt-5-mini", len(ANSWER))


@pytest.mark.parametrize("gap", [0, HEAD_BYTES, HEAD_BYTES + TAIL_BYTES, 500_000])
def test_usage_at_both_ends_of_a_stream_however_long(gap: int) -> None:
    told = b'{"model":"claude-x","usage":{"input_tokens":30,"output_tokens":1}}'
    first = b"event: message_start\ndata: " + told + b"\n\n"
    last = b'data: {"usage":{"output_tokens":44}}\n\n'
    reader = read(first + b"x" * gap + last, 65536)
    assert reader.counts() == {"input_tokens": 30, "output_tokens": 44}
    assert reader.model() == "claude-x"


def test_usage_written_by_the_model_itself_does_not_count() -> None:
    assert read(rb'{"text":"\"output_tokens\": 999"}').counts() == {}


@pytest.mark.parametrize(
    "echoed",
    [
        b'{"tools":[{"default":{"usage":{"cached_tokens":999999}}}],',
        b'{"candidates":[{"args":{"usageMetadata":{"cached_tokens":999999}}}],',
        b'{"content":[{"input":{"usage":{"cached_tokens": 7, "open": {}}}}],',
        b'{"content":[{"input":{"usage":{"cached_tokens": 7, "never": {"closed": [',
        b'{"tools":[{"cached_tokens":999999}],',
    ],
)
def test_usage_that_a_caller_had_echoed_does_not_count(echoed: bytes) -> None:
    told = b'"usage":{"input_tokens":30,"details":{"audio":0},"output_tokens":2}}'
    for step in (3, 65536):
        assert read(echoed + told, step).counts() == {"input_tokens": 30, "output_tokens": 2}
    far = b" " * (HEAD_BYTES + TAIL_BYTES)
    assert read(echoed + far + told).counts() == {"input_tokens": 30, "output_tokens": 2}


def test_usage_of_a_stream_cut_in_the_middle_is_what_it_began_with() -> None:
    first = b'event: message_start\ndata: {"usage":{"input_tokens":30,"output_tokens":1}}\n\n'
    assert read(first + b'data: {"usage":{"output_').counts() == {
        "input_tokens": 30,
        "output_tokens": 1,
    }


def test_usage_model_at_the_end_is_seen() -> None:
    assert (
        read(b"x" * HEAD_BYTES + b'{"modelVersion":"gemini-2.5-pro"}').model() == "gemini-2.5-pro"
    )
    assert read(b"nothing").model() == ""


def test_read_model_of_a_request() -> None:
    assert read_model(rb'{"a":"\"model\":\"no\""}') == ""
    assert read_model(b'{"messages":[],"model":"a/b"}') == "a/b"
    assert read_model(b"{}") == ""
