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
