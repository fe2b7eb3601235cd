"""Deliveries of dialled hosts for a worker, from their bodies."""

from datetime import UTC, datetime

import msgspec

from atoll.domain.errors import Invalid
from atoll.domain.workers.ledger import Receipt, RequestRefusal, Response
from atoll.ports.outside.worker_host import HostDeltas, HostEntry
from atoll.services.workers.intake import HostBatch
from atoll.wire.api.workers.deliveries import (
    AgentEventItem,
    DeltasBody,
    ErrorItem,
    HeartbeatItem,
    HostBatchBody,
    HostItem,
    ResponseItem,
)
from atoll.wire.http.unreadable import UNREADABLE

_NOBODY = datetime.fromtimestamp(0, UTC)
"""The moment of an item before it was taken."""


def host_batch(body: HostBatchBody) -> HostBatch:
    """Return the batch. Raises `Invalid`."""
    entries = [_entry(one, place) for place, one in enumerate(body.items)]
    deltas = [_deltas(one, place) for place, one in enumerate(body.deltas)]
    return HostBatch(body.epoch, body.first, entries, deltas)


def _entry(item: HostItem, place: int) -> HostEntry:
    """Return the entry, not numbered yet. Raises `Invalid`."""
    given = [one for one in (item.event, item.response, item.error, item.heartbeat) if one]
    if len(given) != 1:
        raise Invalid(
            "an item is one of event, response, error and heartbeat", field=f"items.{place}"
        )
    match given[0]:
        case AgentEventItem() as said:
            return HostEntry(0, _NOBODY, line=_message_line(said, place))
        case ResponseItem(request_id=name, result=result):
            _check_json(result, f"items.{place}.response.result")
            return _receipt(name, Response(result))
        case ErrorItem(request_id=name, code=code, message=message, data=data):
            if data is not None:
                _check_json(data, f"items.{place}.error.data")
            return _receipt(name, RequestRefusal(code, message, data))
        case HeartbeatItem():
            return HostEntry(0, _NOBODY)


def _deltas(body: DeltasBody, place: int) -> HostDeltas:
    """Return the pieces as the agent's lines. Raises `Invalid`."""
    return HostDeltas(
        body.after,
        tuple(
            _message(one.method, one.params, f"deltas.{place}.pieces.{number}.params").encode()
            for number, one in enumerate(body.pieces)
        ),
    )


def _receipt(request_id: str, receipt: Receipt) -> HostEntry:
    return HostEntry(0, _NOBODY, request_id=request_id, receipt=receipt)


def _message_line(said: AgentEventItem, place: int) -> str:
    """Return the agent's message as a line of its pipe, its params byte for byte."""
    asked = ""
    if said.server_request_id is not None:
        asked = f',"id":{msgspec.json.encode(said.server_request_id).decode()}'
    return _message(said.method, said.params, f"items.{place}.event.params", asked)


def _message(method: str, params: str, field: str, more: str = "") -> str:
    _check_json(params, field)
    return f'{{"method":{msgspec.json.encode(method).decode()},"params":{params}{more}}}'


def _check_json(text: str, field: str) -> None:
    try:
        msgspec.json.decode(text.encode(), type=msgspec.Raw)
    except UNREADABLE as err:
        raise Invalid("it is no JSON", field=field) from err
