"""Items that a desktop delivers, made from what its runtime keeps and from what an agent says."""

from collections.abc import Mapping
from typing import Final

import msgspec

from atoll.client.desktop.calls import Item, refusal
from atoll.wire.contract import workers as contract
from atoll.wire.http.unreadable import UNREADABLE

NOTHING: Item = {"heartbeat": {}}
"""An item that keeps the place of one that says nothing."""


_REFUSED: Final = "The server refused the receipt of the agent: "


class _Line(msgspec.Struct):
    """A message of an agent in the spool."""

    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"null")
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def item_of(entry: contract.SpoolEntry) -> Item:
    """Return an entry of the spool as an item; what says nothing keeps its number."""
    if entry.kind == "response":
        return {"response": {"request_id": entry.request_id, "result": _decode_raw(entry.data)}}
    if entry.kind == "error":
        return _error_item(entry)
    return _event_item(bytes(entry.data)) or NOTHING


def delta_items(batch: contract.LiveBatch) -> list[Item]:
    """Return the pieces of text of a batch, each as the event that it would be."""
    items = filter(None, (_event_item(bytes(line)) for line in batch.lines))
    return [item["event"] for item in items if isinstance(item["event"], dict)]


def substitute(item: Item, reason: str) -> Item:
    """Return what takes the place of an item that the server refuses: the receipt of a request
    becomes an error, so that the request has exactly one, and what is refused again says
    nothing."""
    for kind in ("response", "error"):
        receipt = item.get(kind)
        if isinstance(receipt, Mapping):
            if str(receipt.get("message")).startswith(_REFUSED):
                return NOTHING
            return refusal(str(receipt["request_id"]), "internal_error", _REFUSED + reason)
    return NOTHING


def _event_item(line: bytes) -> Item | None:
    try:
        read = msgspec.json.decode(line, type=_Line)
        params = _decode_raw(read.params)
    except UNREADABLE:
        return None
    if not read.method:
        return None
    event: dict[str, object] = {"method": read.method, "params": params}
    if not isinstance(read.id, msgspec.UnsetType):
        event["server_request_id"] = _decode_raw(read.id).strip('"')
    return {"event": event}


def _error_item(entry: contract.SpoolEntry) -> Item:
    error = msgspec.json.decode(entry.data, type=contract.RequestError)
    receipt: dict[str, object] = {
        "request_id": entry.request_id,
        "code": error.code,
        "message": error.message[:8000],
    }
    if error.agent is not None:
        receipt["data"] = msgspec.json.encode(error.agent).decode()
    return {"error": receipt}


def _decode_raw(raw: msgspec.Raw) -> str:
    return bytes(raw).decode()
