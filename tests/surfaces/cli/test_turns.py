"""One turn's view of the turn, its control key, and what it says over the wire."""

import json
from typing import Any, TypeAlias

import msgspec
import pytest

from atoll.client.attach.attachment import AttachState, TurnChange
from atoll.client.attach.keys import ControlKey
from atoll.client.attach.turns import GRANT, REQUEST, REVOKE, TurnView, read_turn
from atoll.domain.errors import Invalid
from atoll.wire.attach import ControlState, InputRefused

ANN = {"principal": "person", "name": "Ann", "client": "a", "role": "owner"}
BOB = {"principal": "guest_1", "name": "Bob", "client": "b", "role": "controller"}
EVE = {"principal": "guest_2", "name": "Eve", "client": "e", "role": "viewer"}


Party: TypeAlias = dict[str, str]


def state(
    driver: Party | None,
    waiting: tuple[Party, ...] = (),
    watchers: tuple[Party, ...] = (ANN, BOB),
    **more: Any,
) -> dict[str, Any]:
    return {
        "type": "control_state",
        "driver": driver,
        "epoch": 1,
        "waiting": list(waiting),
        "watchers": list(watchers),
        **more,
    }


def seen(frame: dict[str, Any], client: str) -> TurnView:
    return read_turn(msgspec.convert(frame, ControlState), client)


@pytest.mark.parametrize(
    ("frame", "client", "sentence", "key"),
    [
        (state(ANN, watchers=(ANN,)), "a", "", None),
        (state(ANN, watchers=(ANN, EVE)), "a", "", None),
        (state(ANN), "a", "", REVOKE),
        (state(ANN), "b", "Ann drives", REQUEST),
        (state(ANN, away=True), "b", "Ann drives (away)", REQUEST),
        (state(ANN, (BOB,)), "a", "Bob asks for control, ctrl-] gives it", GRANT),
        (state(ANN, (BOB,)), "b", "asked Ann", REVOKE),
        (state(None), "b", "nobody drives", REQUEST),
        (state(ANN, watchers=(ANN, EVE)), "e", "watching only", None),
        (state(ANN, agent="codex"), "a", "codex works", REVOKE),
    ],
)
def test_turn_view_says_whose_turn_it_is_and_what_its_key_does(
    frame: dict[str, Any], client: str, sentence: str, key: str | None
) -> None:
    turn = seen(frame, client)
    assert (turn.sentence("ctrl-]"), turn.control_frame()) == (sentence, key)


def test_refusal_says_who_drives_and_how_to_ask() -> None:
    assert seen(state(ANN), "b").refusal("ctrl-]") == "Ann drives, ctrl-] asks for control"
    assert seen(state(ANN, (BOB,)), "b").refusal("ctrl-]") == "Ann was asked for control"
    assert seen(state(ANN, watchers=(EVE,)), "e").refusal("ctrl-]") == "watching only"


def test_driver_who_detaches_lets_go_and_nobody_else_does() -> None:
    assert seen(state(ANN), "a").leaving_frame() == REVOKE
    assert seen(state(ANN, (BOB,)), "b").leaving_frame() is None
    assert seen(state(None), "a").leaving_frame() is None


@pytest.mark.parametrize("typed", [b"\x1d", b"\x1b[93;5u", b"\x1b[27;5;93~"])
def test_control_key_is_known_in_every_encoding_and_only_alone(typed: bytes) -> None:
    key = ControlKey()
    assert key.matches(typed)
    assert not key.matches(b"x" + typed)
    assert not ControlKey("none").matches(typed)


def test_control_key_that_is_none_is_refused() -> None:
    with pytest.raises(Invalid):
        ControlKey("ctrl-p,ctrl-q")


START = {"type": "start", "offset": 0, "preamble": "", "ack_every": 65536, "title": ""}
START |= {"cols": 80, "rows": 24, "client": "c", "driver": None}


def test_take_is_asked_on_the_first_connection_only() -> None:
    attachment = AttachState("c", fresh=True, take=True)
    assert ("take", "true") in attachment.query(80, 24)
    attachment.on_text(json.dumps({**START, "client": "c"}))
    assert ("take", "true") not in attachment.query(80, 24)


def test_client_id_is_the_one_the_server_gave() -> None:
    attachment = AttachState("c", fresh=True, read_only=True)
    attachment.on_text(json.dumps({**START, "client": "c_other"}))
    assert ("client", "c_other") in attachment.query(80, 24)
    assert ("read_only", "true") in attachment.query(80, 24)
    other = {**BOB, "client": "c_other"}
    assert attachment.on_text(json.dumps(state(other))) == [
        TurnChange(
            TurnView(True, "Bob", shared=True, others=True, guests=frozenset({("b", "Bob")}))
        )
    ]


def test_refused_input_is_told_with_its_reason() -> None:
    attachment = AttachState("c", fresh=True)
    frame = {"type": "input_refused", "reason": "not_driver", "message": "…"}
    assert attachment.on_text(json.dumps(frame)) == [InputRefused("not_driver", "…")]


def test_turn_view_names_who_came_but_no_window_of_the_owners() -> None:
    own = {**ANN, "client": "a2"}
    alone = seen(state(ANN, watchers=(ANN,)), "a")
    assert alone.newcomers(TurnView()) == ""
    both = seen(state(ANN, watchers=(ANN, own, EVE, BOB)), "a")
    assert both.newcomers(alone) == "Bob and Eve came"
    assert seen(state(BOB, watchers=(ANN, own, EVE)), "a").newcomers(both) == ""
    assert alone.newcomers(both) == ""
