"""What the client says where a server cannot be reached, or is none of ours."""

import socket
import threading

import pytest

from atoll.client.server import server_at
from atoll.client.transport import Call, Transport, problem_of
from atoll.domain.errors import AtollError


def _said(url: str) -> str:
    with pytest.raises(AtollError) as failed:
        Transport(lambda: server_at(url, "URL")).call(Call("GET", "/v1/me", timeout=5.0))
    return failed.value.message


def test_name_that_is_not_known_is_said_without_its_number() -> None:
    assert _said("http://nowhere.invalid:80").startswith(
        "the name in http://nowhere.invalid:80 is not known here: check how it is spelled"
    )


def test_https_to_a_server_without_it_is_said_without_openssls_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as plain:
        port = plain.getsockname()[1]

        def answer() -> None:
            with plain.accept()[0] as connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        serving = threading.Thread(target=answer)
        serving.start()
        said = _said(f"https://127.0.0.1:{port}")
        serving.join()
    assert "does not speak TLS there: use http:// or another port" in said
    assert "_ssl.c" not in said and "[" not in said


def test_answer_of_another_server_asks_whether_it_is_atolls() -> None:
    assert "check that its address is that of an Atoll server" in problem_of(404, b"<p>").message


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        ("cannot run 'x': No such file or directory", "cannot run 'x': No such file or directory"),
        ("Field required", "argv: Field required"),
        ("Argv is empty", "Argv is empty"),
        ("this sandbox's agent has ended", "argv: this sandbox's agent has ended"),
        ("the guests' and owners' names differ", "argv: the guests' and owners' names differ"),
        ("the argvs are too many", "argv: the argvs are too many"),
    ],
)
def test_field_is_named_unless_the_message_names_it_or_quotes_its_value(
    detail: str, said: str
) -> None:
    body = f'{{"detail": "{detail}", "field": "argv"}}'.encode()
    assert problem_of(422, body).message == said


def test_field_of_two_words_is_named_by_them() -> None:
    body = b'{"detail": "the from branch is missing", "field": "from_branch"}'
    assert problem_of(422, body).message == "the from branch is missing"


def test_error_has_the_request_id_of_the_document_or_else_of_the_head() -> None:
    document = b'{"detail": "gone", "request_id": "r-1"}'
    assert problem_of(503, document, request_id="r-2").request_id == "r-1"
    assert problem_of(503, b'{"detail": "gone"}', request_id="r-2").request_id == "r-2"
    assert problem_of(502, b"<p>", request_id="r-2").request_id == "r-2"
    hostile = b'{"detail": "gone", "request_id": "\\u001b[31m"}'
    assert problem_of(503, hostile, request_id="a b").request_id is None
