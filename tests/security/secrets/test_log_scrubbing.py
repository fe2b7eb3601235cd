import pytest

from atoll.wiring.control.logs import SCRUBBED, scrub, scrubbed_text


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer canary-canary-canary",
        "http://127.0.0.1:1/#login=canary-canary-canary",
        "cookie atoll_session=canary-canary-canary; x",
        "key sk-canary-canary-canary",
        "postgresql://user:canary-canary@db/x",
    ],
)
def test_secret_in_a_text_is_scrubbed_by_its_shape(text: str) -> None:
    assert "canary" not in scrubbed_text(text)
    assert SCRUBBED in scrubbed_text(text)


@pytest.mark.parametrize(
    "name", ["token", "api_key", "Authorization", "cookie", "password", "ticket", "client_secret"]
)
def test_secret_under_a_telling_name_is_scrubbed(name: str) -> None:
    assert scrub(None, "info", {"event": "x", name: "canary"})[name] == SCRUBBED


def test_plain_line_stays_as_it_is() -> None:
    line = {"event": "sandbox_ready", "sandbox": "sb_abc", "seconds": 1.5}
    assert scrub(None, "info", dict(line)) == line
