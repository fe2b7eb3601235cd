from atoll.client.fields import Json
from atoll.client.made.events import Event
from atoll.surfaces.cli.console.event_line import event_line


def test_event_line_of_merged_refusals_says_how_many_however_long_the_rest_is() -> None:
    payload: dict[str, Json] = {
        "sandbox_id": "sb_1",
        "host": "a.example",
        "detail": "d" * 300,
        "times": 59,
    }
    line = event_line(
        Event(
            {
                "at": "2026-01-01T12:00:00Z",
                "stream": "sandbox:sb_1",
                "event_type": "door.refused",
                "actor": {"kind": "atm", "id": "atoll"},
                "reason": None,
                "payload": payload,
            }
        )
    )
    assert "  door.refused  atm:atoll  59 times  host=a.example " in line
    assert "times=" not in line
