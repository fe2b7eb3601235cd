"""A question to a home's zygote from outside its control plane."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from atoll.domain.errors import Unavailable
from atoll.wire.zygote import messages as wire
from atoll.wiring.launch.zygote_process import ask
from atoll.zygote.host.home import Home

ENDED = wire.Ended("sb_1", 1, "the runtime was killed by SIGKILL")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.run.mkdir()
    return home


@contextmanager
def zygote(home: Home, *answers: Callable[[int], bytes], backlog: int = 1) -> Iterator[None]:
    """Listen as the zygote of a home, and answer one request by the packets of its number."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(home.socket))
        listener.listen(backlog)

        def serve() -> None:
            link, _address = listener.accept()
            with link:
                number = wire.decode_request(link.recv(wire.MAX_MESSAGE_BYTES)).number
                for answer in answers:
                    link.send(answer(number))

        server = threading.Thread(target=serve, daemon=True)
        server.start()
        yield


def ended(_number: int) -> bytes:
    return wire.encode_answer(0, ENDED)


def refused(number: int) -> bytes:
    return wire.encode_answer(number, wire.Refused("failed", "it was asked"))


def test_answer_behind_the_end_of_a_sandbox_is_the_answer(home: Home) -> None:
    with zygote(home, ended, ended, refused):
        assert ask(home, wire.Report(), 5) == wire.Refused("failed", "it was asked")


def test_zygote_that_hangs_up_first_does_not_run(home: Home) -> None:
    with zygote(home, ended):
        assert ask(home, wire.Report(), 5) is None


def test_zygote_that_takes_no_connection_now_is_not_one_that_is_gone(home: Home) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(home.socket))
        listener.listen(0)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as waiting:
            waiting.connect(str(home.socket))
            with pytest.raises(Unavailable, match="does not answer"):
                ask(home, wire.Report(), 0.2)


def test_home_without_a_zygote_has_no_answer(home: Home) -> None:
    assert ask(home, wire.Report()) is None
