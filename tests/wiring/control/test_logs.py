"""The log of the control plane as text and as JSON lines."""

import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from atoll.wiring.control.logs import CHATTY, configure

KNOWN = {
    "request_id": "mine-1",
    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
    "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "org": "personal",
    "principal": "adm",
}


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root, before = logging.getLogger(), structlog.get_config()
    handlers = root.handlers[:]
    named = [root, *map(logging.getLogger, ("atoll", *CHATTY))]
    levels = [one.level for one in named]
    yield
    root.handlers[:] = handlers
    for one, level in zip(named, levels, strict=True):
        one.setLevel(level)
    structlog.configure(**before)


def said(capfd: pytest.CaptureFixture[str], form: str) -> list[str]:
    """Return the lines of a log: one of a request, one with a secret and an error, one of a
    library's."""
    configure("info", form)
    log = structlog.get_logger("atoll.here")
    with structlog.contextvars.bound_contextvars(**KNOWN):
        log.info("sandbox_ready", sandbox="sb_a", seconds=1.5)
    try:
        raise RuntimeError("line one\nBearer canary-canary-canary")
    except RuntimeError:
        log.exception("work_broke", token="canary")
    logging.getLogger("library").warning("two\nlines of %s", "a library")
    return capfd.readouterr().err.splitlines()


def test_json_log_is_one_object_a_line_with_the_same_first_fields(
    capfd: pytest.CaptureFixture[str],
) -> None:
    first, second, third = (json.loads(line) for line in said(capfd, "json"))
    same = ["timestamp", "level", "logger", "event", "request_id", "trace_id", "org", "principal"]
    assert [list(one)[:8] for one in (first, second, third)] == [same] * 3
    assert {key: first[key] for key in KNOWN if key != "traceparent"} == {
        key: value for key, value in KNOWN.items() if key != "traceparent"
    }
    assert (first["event"], first["sandbox"], first["seconds"]) == ("sandbox_ready", "sb_a", 1.5)
    assert (first["level"], first["logger"]) == ("info", "atoll.here")
    assert "traceparent" not in first
    assert (second["request_id"], second["org"], second["token"]) == (None, None, "[scrubbed]")
    assert "RuntimeError: line one" in second["exception"] and "canary" not in str(second)
    assert (third["event"], third["logger"]) == ("two\nlines of a library", "library")


def test_text_log_names_the_request_and_leaves_out_the_caller(
    capfd: pytest.CaptureFixture[str],
) -> None:
    first, *_ = lines = said(capfd, "text")
    assert "event=sandbox_ready" in first and "request_id=mine-1" in first
    assert "org=" not in first and "traceparent" not in first
    assert "canary" not in "".join(lines) and len(lines) == 3


def test_text_log_spells_what_a_terminal_would_obey(capfd: pytest.CaptureFixture[str]) -> None:
    said(capfd, "text")
    try:
        raise RuntimeError("\x1b]0;owned\x07 and \x9b2J")
    except RuntimeError as error:
        structlog.get_logger("atoll.here").exception("work_broke", reason=error)
    told = capfd.readouterr().err
    assert "x1b]0;owned" in told and "x9b2J" in told
    assert not set(told) & {"\x1b", "\x07", "\x9b"}


def test_libraries_say_what_they_do_only_when_debugging(capfd: pytest.CaptureFixture[str]) -> None:
    def announce(level: str) -> str:
        configure(level)
        for name in ("mcp.server.streamable_http_manager", "httpx", "botocore"):
            logging.getLogger(name).info("started")
        for name in CHATTY:
            logging.getLogger(name).warning("a client was odd")
        logging.getLogger("atoll.here").info("ours")
        return capfd.readouterr().err

    assert announce("info").splitlines()[0].endswith("logger=atoll.here")
    assert announce("info").count("\n") == 1
    assert announce("debug").count("started") == 3
