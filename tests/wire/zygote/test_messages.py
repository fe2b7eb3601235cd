"""The zygote's messages: every one survives the wire, every bad one is named."""

import pytest

from atoll.wire.zygote import messages as wire

START = wire.Start(
    sandbox_id="sb_abcdefgh",
    generation=2,
    hostname="repo-main",
    limits=wire.Limits(memory_bytes=2**30, pids=64),
    views=(wire.View("/h/repos/a.git", "/.atoll/repos/0.git"),),
    env=(("A", "B"),),
    agents=(wire.Agent("codex", ("codex",)),),
)
REQUESTS = [
    START,
    wire.Serve(START, 30),
    wire.Await("sb_abcdefgh", 2),
    wire.Stop("sb_abcdefgh"),
    wire.Destroy("sb_abcdefgh"),
    wire.ListBoxes(after="sb_a"),
    wire.Report(),
    wire.Import("/h/run/import/1/r.git", "/h/run/import/1/b", ("+refs/heads/x:refs/in/x",)),
]
ANSWERS = [
    wire.Started(wire.Box("sb_a", 1, True, "/s", 5), attached=True),
    wire.Awaited(
        wire.Box("sb_a", 1, True, "/s", 5), "/r", "/i", ("/.atoll/init",), "/w", "/t", "/e", "/o"
    ),
    wire.Cleaned(removed=("a",), leftovers=("b",)),
    wire.Listed((wire.Box("sb_a", 1, False, "/s", 5),), more=True),
    wire.Reported(root=True, pid=1, bwrap="0.11.0", init="c"),
    wire.Imported(),
    wire.Refused("conflict", "why"),
    wire.Ended("sb_a", 1, "gone"),
]


@pytest.mark.parametrize("request_", REQUESTS)
def test_request_encoded_and_decoded_is_the_same(request_: wire.Request) -> None:
    assert wire.decode_request(wire.encode_request(7, request_)) == wire.NumberedRequest(
        7, request_
    )


@pytest.mark.parametrize("answer", ANSWERS)
def test_answer_encoded_and_decoded_is_the_same(answer: wire.Answer) -> None:
    assert wire.decode_answer(wire.encode_answer(7, answer)) == wire.NumberedAnswer(7, answer)


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"\xff\xfe",
        b"[" * 60000,
        b"null",
        b'{"number":1,"request":{"verb":"sudo"}}',
        b'{"number":0,"request":{"verb":"report"}}',
        b'{"number":1,"request":{"verb":"stop","sandbox_id":"../x"}}',
        b'{"number":1,"request":{"verb":"stop","sandbox_id":"sb_a\\n"}}',
        b'{"number":1,"request":{"verb":"stop","sandbox_id":"sb_a","x":1}}',
        b'{"number":1,"request":{"verb":"import","repo_dir":"/a","bundle":"/b","refspecs":["-x"]}}',
        b'{"number":1,"request":{"verb":"report"},"request_id":"a b"}',
        b'{"number":1,"request":{"verb":"report"},"request_id":"a\\n"}',
        b'{"number":1,"request":{"verb":"report"},"traceparent":"x"}',
        b"x" * (wire.MAX_MESSAGE_BYTES + 1),
    ],
)
def test_request_that_is_malformed_is_refused(bad: bytes) -> None:
    with pytest.raises(wire.Malformed):
        wire.decode_request(bad)


def test_request_that_is_too_long_is_refused_when_encoded() -> None:
    with pytest.raises(wire.Malformed, match="shorten"):
        wire.encode_request(
            1, wire.Start("sb_a", 1, "h", env=tuple((f"K{n}", "v" * 1000) for n in range(100)))
        )


def test_answer_that_is_malformed_is_refused() -> None:
    with pytest.raises(wire.Malformed):
        wire.decode_answer(b'{"number":1,"answer":{"answer":"who"}}')


def test_number_of_a_bad_request_is_found_when_it_is_there() -> None:
    assert wire.number_of(b'{"number":5,"request":1}') == 5
    assert wire.number_of(b"{") == 0


def test_link_is_shown_without_its_key() -> None:
    link = wire.Link(START, "ab" * 32, 600, "ext.ssh", ("/.atoll/init",))
    assert "abab" not in repr(link)
    assert "ext.ssh" in repr(link)
