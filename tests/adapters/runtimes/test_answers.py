import msgspec
import pytest

from atoll.adapters.runtimes.http_clients import problem, read_answer
from atoll.domain.errors import Conflict, Failed
from atoll.wire.contract.call import json_call


class Execution(msgspec.Struct):
    exec_id: str


def test_problem_without_a_document_still_speaks() -> None:
    assert isinstance(problem(502, b"<html>"), Failed)
    assert isinstance(problem(409, b"{}"), Conflict)
    assert "503" in problem(503, b"").message


@pytest.mark.parametrize(
    "body", [b"", b"no json", b"[]", b'{"exec_id":"\xff"}', b"[" * 5000 + b"]" * 5000, b"{}"]
)
def test_answer_that_is_not_what_was_asked_for_is_a_failure(body: bytes) -> None:
    with pytest.raises(Failed, match="runtime"):
        read_answer(json_call("GET", "/x", Execution), 200, body)
