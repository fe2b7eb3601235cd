"""The readers of both sides: any cut of the bytes gives the same events."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.runtime.doors.broker.machine.phases import ResponsePhase
from atoll.runtime.doors.broker.machine.request_reader import RequestMark, RequestReader
from atoll.runtime.doors.broker.machine.response_reader import (
    MAX_HEAD_BYTES,
    ResponseMark,
    ResponseReader,
)
from atoll.runtime.doors.broker.request import BrokerRequest, RequestShapes
from atoll.runtime.doors.broker.response import ResponseHead

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /b HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
OFFER = b"GET /w HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
TWICE = b"POST /d HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"
REQUESTS = st.lists(st.sampled_from([GET, POST, CHUNKED, OFFER, TWICE, b"\0junk"]), max_size=5)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
UNSIZED = b"HTTP/1.1 200 OK\r\n\r\nok"
SWITCH = b"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nframes"
INTERIM = b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
RESPONSES = st.sampled_from([OK, STREAM, UNSIZED, SWITCH, INTERIM + OK, b"junk", OK[:-1]])
PLACES = st.lists(st.integers(0, 1000), max_size=8)
UPGRADES = (RequestMark.UPGRADE, RequestMark.RUSHED_UPGRADE)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted({place % (len(data) + 1) for place in places}), len(data)]
    return [data[a:b] for a, b in pairwise(edges) if a < b]


def add(found: list[object], data: bytes) -> None:
    """Add bytes, joined with the bytes before them."""
    if found and isinstance(found[-1], bytes):
        found[-1] += data
    else:
        found.append(data)


def read_requests(pieces: list[bytes]) -> list[object]:
    """The events up to the last readable byte, with adjacent pieces of a body joined. An upgrade
    that is rushed depends on the cuts."""
    reader, found = RequestReader(RequestShapes()), list[object]()
    for piece in pieces:
        for event in reader.feed(piece):
            if isinstance(event, bytes):
                add(found, event)
            elif isinstance(event, BrokerRequest):
                found.append((event.shape.target, event.length))
            elif event in UPGRADES:
                return [*found, RequestMark.UPGRADE]
            elif event is RequestMark.UNREADABLE:
                return [*found, event]
            else:
                found.append(event)
    return found


def read_response(pieces: list[bytes], *, bodiless: bool = False) -> list[object]:
    """The events of one response, with adjacent pieces joined."""
    reader, found = ResponseReader(), list[object]()
    reader.begin(bodiless=bodiless)
    for piece in pieces:
        if reader.phase is ResponsePhase.SWITCHED:
            add(found, piece)
            continue
        for event in reader.feed(piece):
            if isinstance(event, bytes):
                add(found, event)
            elif isinstance(event, ResponseHead):
                found.append((event.status, event.reason, event.names, tuple(event.values)))
            else:
                return [*found, event]
    return [*found, reader.ends_with_connection]


@given(REQUESTS, PLACES)
def test_requests_read_in_any_pieces_are_the_same(sent: list[bytes], places: list[int]) -> None:
    data = b"".join(sent)
    assert read_requests(cut(data, places)) == read_requests([data] if data else [])


@given(RESPONSES, st.booleans(), PLACES)
def test_responses_read_in_any_pieces_are_the_same(
    data: bytes, bodiless: bool, places: list[int]
) -> None:
    whole = read_response([data], bodiless=bodiless)
    assert read_response(cut(data, places), bodiless=bodiless) == whole


def test_ambiguous_request_is_unreadable_and_nothing_behind_it_is_read() -> None:
    found = read_requests([GET + TWICE + GET])
    assert found == [("/a", 0), RequestMark.COMPLETE, RequestMark.UNREADABLE]


@pytest.mark.parametrize(
    ("rest", "mark"), [(b"", RequestMark.UPGRADE), (b"early", RequestMark.RUSHED_UPGRADE)]
)
def test_upgrade_says_whether_bytes_came_behind_its_head(rest: bytes, mark: RequestMark) -> None:
    assert RequestReader(RequestShapes()).feed(OFFER + rest)[-1] is mark


@pytest.mark.parametrize(
    ("data", "bodiless", "idle"),
    [
        (OK, False, True),
        (STREAM, False, True),
        (OK[:-2], True, False),
        (OK + OK, False, False),
        (OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), False, False),
        (b"HTTP/1.1 204 No\r\n\r\n", False, True),
        (OK[:-1], False, False),
        (b"junk", False, False),
    ],
)
def test_connection_is_idle_after_a_response_that_both_sides_saw_end(
    data: bytes, bodiless: bool, idle: bool
) -> None:
    reader = ResponseReader()
    reader.begin(bodiless=bodiless)
    reader.feed(data)
    assert reader.idle is idle


@pytest.mark.parametrize(
    ("data", "complete"), [(UNSIZED, True), (SWITCH, True), (OK[:-1], False), (b"", False)]
)
def test_end_of_connection_completes_only_responses_that_end_so(
    data: bytes, complete: bool
) -> None:
    reader = ResponseReader()
    reader.begin(bodiless=False)
    if data:
        reader.feed(data)
    assert reader.ends_with_connection is complete


def test_head_longer_than_its_limit_breaks_the_response() -> None:
    reader = ResponseReader()
    reader.begin(bodiless=False)
    events = reader.feed(b"HTTP/1.1 200 OK\r\nX: " + b"x" * MAX_HEAD_BYTES)
    assert events == [ResponseMark.TOO_LONG]
    assert not reader.idle
