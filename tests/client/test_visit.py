"""Share links as the command line reads them, and a visit to a server that is anybody's."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from atoll.client.server import GuestKey, Server
from atoll.client.visit import begin_visit, read_link
from atoll.domain.errors import AtollError, Failed, Forbidden, Invalid


@pytest.mark.parametrize(
    "link",
    [
        "https://box.example/#share=",
        "https://box.example/#login=abc",
        "https://box.example/#share=a b",
        "https://box.example/#share=a\x1b",
        "ftp://box.example/#share=abc",
        "#share=abc",
        "https://box.example:99999/#share=abc",
        "https://box.example/#share=" + "a" * 3000,
    ],
)
def test_word_that_is_no_share_link_is_invalid(link: str) -> None:
    with pytest.raises(Invalid):
        read_link(link)


def test_plain_http_goes_to_this_machine_and_private_networks_only() -> None:
    assert not read_link("http://127.0.0.1:7/#share=abc").plain
    assert read_link("http://192.168.7.7:7/#share=abc").plain
    with pytest.raises(Forbidden, match="https"):
        read_link("http://9.9.9.9/#share=abc")
    assert not read_link("https://9.9.9.9/#share=abc").plain


def test_guest_sends_its_cookie_and_key_to_that_origin_and_no_token() -> None:
    key = GuestKey("s3cret", "k3y")
    server = Server("https://box.example/deep", True, "box.example", 443, "/deep", guest=key)
    assert server.credentials() == {
        "Cookie": "atoll_guest=s3cret",
        "Atoll-Page-Key": "k3y",
        "Origin": "https://box.example",
    }
    assert "s3cret" not in repr(server)
    assert "k3y" not in repr(server)


@contextmanager
def _server(status: int, cookie: str, body: bytes) -> Iterator[str]:
    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Set-Cookie", cookie)
            self.send_header("Location", "http://127.0.0.1:1/")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/#share=abc"
        finally:
            server.shutdown()
            thread.join()


GOOD = b'{"page_key": "k", "name": "Bob", "guest": {"sandbox_id": "sb_1"}}'


def test_visit_begins_with_the_cookie_and_the_key_of_the_answer() -> None:
    with _server(201, "atoll_guest=c; HttpOnly", GOOD) as link:
        visit = begin_visit(read_link(link), "Bob")
    assert visit.server.guest == GuestKey("c", "k")
    assert (visit.name, visit.access.sandbox_id) == ("Bob", "sb_1")


@pytest.mark.parametrize(
    ("status", "cookie", "body"),
    [
        (201, "atoll_guest=c", b"[]"),
        (201, "atoll_guest=c", b"<html>"),
        (201, "atoll_guest=c", b" " * 100_000),
        (201, "other=c", GOOD),
        (201, "atoll_guest=c", b'{"page_key": "a\\r\\nX: y", "guest": {}}'),
        (302, "atoll_guest=c", GOOD),
    ],
)
def test_server_that_is_none_of_ours_is_refused_and_never_followed(
    status: int, cookie: str, body: bytes
) -> None:
    with _server(status, cookie, body) as link, pytest.raises(AtollError) as refused:
        begin_visit(read_link(link), None)
    assert isinstance(refused.value, Failed)
