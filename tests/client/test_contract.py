"""Shapes of streams, which no declaration of an answer says, have the members that are sent."""

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import msgspec

from atoll.client.fields import Field, Shape
from atoll.client.made.execs import Exec
from atoll.client.stream_lines import FoundFile, OutputLine
from atoll.client.workers.shapes import WorkerDelta, WorkerEvent
from atoll.domain.workers.live import WorkerDelta as WorkerRecordDelta
from atoll.domain.workers.record import WorkerEvent as WorkerRecordEvent
from atoll.surfaces.http.workers.views import event_view
from atoll.wire.contract.execs import Chunk, Last
from atoll.wire.contract.files import FoundLine, FoundName, SearchEnd


def read_fields(shape: type[Shape]) -> dict[str, Any]:
    """Return the kind of each field; that of a word is None."""
    found = {name: getattr(shape, name) for name in dir(shape)}
    return {name: field.kind for name, field in found.items() if isinstance(field, Field)}


def test_events_of_workers_are_those_of_the_stream() -> None:
    frame = event_view("w", WorkerRecordEvent(3, "worker.lost", 1, datetime.now(UTC), {}))
    assert read_fields(WorkerEvent).keys() == frame.keys() - {"payload"}


def test_deltas_of_workers_are_those_of_the_stream() -> None:
    members = {one.name for one in fields(WorkerRecordDelta)}
    assert read_fields(WorkerDelta).keys() == members - {"params"}


def test_lines_of_output_are_those_of_the_runtimes_contract() -> None:
    kinds = {one.name: one.type for kind in (Chunk, Last) for one in msgspec.structs.fields(kind)}
    read = read_fields(OutputLine)
    assert read.pop("exit") is Exec
    assert kinds.pop("exit").__name__ == "ExecRecord"
    assert read == kinds


def test_what_a_search_finds_has_the_members_of_the_runtimes_contract() -> None:
    kinds = (FoundName, FoundLine, SearchEnd)
    members = {one.name for kind in kinds for one in msgspec.structs.fields(kind)}
    assert read_fields(FoundFile).keys() - {"type"} <= members
