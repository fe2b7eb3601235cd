"""Event as a line for people: time, place, kind, actor, and its payload.

Programs read `--json`. A line leaves out what every line would repeat, and what is empty.
"""

import json

from atoll.client.fields import Json, Shape
from atoll.client.made.events import Event, Gap
from atoll.surfaces.cli.console.moments import moment
from atoll.surfaces.cli.console.output import note

MAX_DETAIL = 240
_REPEATED = frozenset({"sandbox_id", "generation", "n", "state"})
_APART = _REPEATED | {"times"}


def event_line(event: Event) -> str:
    """Return `at  stream  kind  actor  [N times]  [reason]  [key=value …]`."""
    actor, times = event.actor, event.payload.value.get("times")
    who = f"{actor.kind}:{actor.id}"
    words = [moment(event.at), event.stream, event.event_type, who]
    # First, since what is long is cut at its end.
    words += [f"{times} times"] if isinstance(times, int) else []
    words += [more for more in (event.reason, details(event.payload)) if more]
    return "  ".join(words)


def note_gap(gap: Gap) -> None:
    """Note on standard error what is missing of a log after a position."""
    after, to = gap.after, gap.to
    if to < after:
        note(f"atoll: the log was set back: it ends at position {to}, and has not reached {after}")
    else:
        note(f"atoll: some events after position {after} and up to {to} are no longer kept")


def details(payload: Shape) -> str:
    """Return `key=value …` of a payload, cut where it is long."""
    pairs: list[str] = []
    for key, value in payload.value.items():
        if key in _APART:
            continue
        if isinstance(value, dict):
            pairs += [f"{key}.{inner}={_word_of(part)}" for inner, part in value.items()]
        elif value not in (None, "", []):
            pairs.append(f"{key}={_word_of(value)}")
    shown = " ".join(pairs)
    return shown if len(shown) <= MAX_DETAIL else shown[: MAX_DETAIL - 1] + "…"


def _word_of(value: Json) -> str:
    """Return a word as it is, in quotes what would run into its neighbours."""
    if isinstance(value, list):
        return ",".join(_word_of(element) for element in value)
    if isinstance(value, str) and value and not any(mark in value for mark in ' ="'):
        return value
    return json.dumps(value, ensure_ascii=False)
