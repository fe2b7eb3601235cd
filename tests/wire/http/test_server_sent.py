from atoll.wire.http.server_sent import ServerSent, ServerSentLines


def test_server_sent_lines_resume_after_the_last_whole_event() -> None:
    lines = ServerSentLines("7")
    for line in (b": heartbeat", b"id: 8", b"event: sandbox.ready", b"data: {", b"data:}"):
        assert lines.read(line) is None
    assert lines.place == "7"
    assert lines.read(b"") == ServerSent("8", "sandbox.ready", b"{\n}")
    assert lines.place == "8"
    assert lines.read(b"id: 9") is None and lines.read(b"") is None
    assert lines.place == "9"


def test_event_that_is_too_long_is_left_out_and_the_next_one_comes() -> None:
    lines = ServerSentLines(longest=5)
    for line in (b"event: offer", b"data: abc", b"data: def", b"data: g"):
        assert lines.read(line) is None
    assert lines.read(b"") is None
    assert lines.read(b"data: abcde") is None
    assert lines.read(b"") == ServerSent("", "", b"abcde")
