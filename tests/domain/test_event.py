import pytest

from atoll.domain.errors import Invalid
from atoll.domain.event import Gap, Json, dashboard_stream, last_event_position, sandbox_stream
from atoll.domain.event_kind import KINDS, check
from atoll.wire.words.events import MAX_POSITION
from atoll.wire.words.sandboxes import State

LIFE: dict[str, Json] = {"sandbox_id": "sb_a", "name": "x", "generation": 1, "state": "ready"}


def test_every_state_has_a_kind() -> None:
    assert {f"sandbox.{state}" for state in State} <= KINDS.keys()


def test_kinds_are_said_in_words() -> None:
    assert all(
        kind.text and kind.version >= 1 and kind.name == name for name, kind in KINDS.items()
    )


def test_payload_that_fits_passes() -> None:
    assert check("sandbox.ready", LIFE).version == 1
    assert check("door.request", {"sandbox_id": "a", "generation": 1, "n": 1, "any": 1})


@pytest.mark.parametrize(
    ("kind", "payload", "words"),
    [
        ("sandbox.happy", LIFE, "no event kind"),
        ("sandbox.ready", {"sandbox_id": "a"}, "lacks generation, name, state"),
        ("sandbox.ready", LIFE | {"extra": 1}, "does not know extra"),
    ],
)
def test_payload_that_does_not_fit_is_a_mistake(
    kind: str, payload: dict[str, Json], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        check(kind, payload)


def test_stream_of_a_sandbox() -> None:
    assert sandbox_stream("sb_a") == "sandbox:sb_a"
    assert dashboard_stream("dsh_a") == "dashboard:dsh_a"


def test_gap_tells_a_log_that_was_set_back() -> None:
    assert Gap(after=9, to=4).set_back
    assert not Gap(after=4, to=9).set_back


def test_reader_without_an_id_has_no_position() -> None:
    assert last_event_position("") is None
    assert last_event_position("0") == 0
    assert last_event_position(str(MAX_POSITION)) == MAX_POSITION


@pytest.mark.parametrize(
    "text", ["x", "-1", "1.5", " 1", "\u0661", str(MAX_POSITION + 1), "1" * 5000]
)
def test_position_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="the id of the last event received"):
        last_event_position(text)
