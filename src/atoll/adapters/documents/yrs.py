"""Shared documents by pycrdt, which is Yrs, the Yjs of Rust, for Python.

Yrs recurses through nested types, so what comes here was judged before and nests two deep.
"""

from collections.abc import Mapping
from typing import Any

from pycrdt import Doc, Map, Text

from atoll.domain.dashboards.change import ROOT
from atoll.domain.dashboards.item import Fields, RichText, Value
from atoll.domain.errors import Invalid
from atoll.domain.event import Json
from atoll.ports.documents import AppliedUpdate
from atoll.wire.crdt.frames import read_clocks, spell_clocks

NOTHING = b"\x00\x00"
"""The update that changes nothing."""


def made_of(items: Mapping[str, Fields]) -> bytes:
    """See `ports.documents.Documents`."""
    doc: Any = Doc()
    root = doc.get(ROOT, type=Map)
    with doc.transaction():
        for item_id, fields in items.items():
            root[item_id] = Map({name: _shared_value(value) for name, value in fields.items()})
            for name, value in fields.items():
                if isinstance(value, RichText):
                    _write(root[item_id][name], value)
    return bytes(doc.get_update())


class YrsDocument:
    """The `ports.documents.Document` on Yrs."""

    def __init__(self) -> None:
        self._doc: Any = Doc(allow_multithreading=True)
        self._root: Any = self._doc.get(ROOT, type=Map)
        self._touched: set[str] = set()
        self._changes: list[bytes] = []
        self._subscriptions = (
            self._root.observe_deep(self._note_items),
            self._doc.observe(self._note_change),
        )

    def apply(self, update: bytes) -> AppliedUpdate:
        """See the port."""
        self._touched.clear()
        self._changes.clear()
        try:
            self._doc.apply_update(update)
        except BaseException as error:
            # A panic of Rust is no `Exception`.
            if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
                raise
            raise Invalid("an update cannot be applied", field="update") from error
        changed = b"" if not self._changes else self._changes[-1]
        return AppliedUpdate(b"" if changed == NOTHING else changed, frozenset(self._touched))

    def clocks(self) -> dict[int, int]:
        """See the port."""
        return read_clocks(self._doc.get_state())

    def missing(self, clocks: Mapping[int, int]) -> bytes:
        """See the port."""
        return bytes(self._doc.get_update(spell_clocks(dict(clocks))))

    def item(self, item_id: str) -> Fields | None:
        """See the port."""
        # Else each look at a field would be a transaction of its own.
        with self._doc.transaction():
            if item_id not in self._root:
                return None
            found = self._root[item_id]
            if not isinstance(found, Map):
                raise Invalid("an item is no map", field="items")
            return {name: _read(found[name]) for name in found.keys()}  # noqa: SIM118 - no mapping

    def ids(self) -> list[str]:
        """See the port."""
        return list(self._root.keys())

    def _note_items(self, events: list[Any]) -> None:
        for event in events:
            path = event.path
            self._touched.update([str(path[0])] if path else map(str, event.keys))

    def _note_change(self, event: Any) -> None:
        self._changes.append(bytes(event.update))


def _shared_value(value: Value) -> Any:
    return Text("") if isinstance(value, RichText) else value


def _write(text: Any, value: RichText) -> None:
    # A run that is inserted behind another one would have its attributes.
    text.insert(0, value.plain)
    at = 0
    for run, attributes in value.runs:
        end = at + len(run.encode())
        if attributes and run:
            text.format(at, end, dict(attributes))
        at = end


def _read(value: Any) -> Value:
    if isinstance(value, Text):
        # `None` stands for no attributes.
        return RichText(tuple((str(run), _to_json(marks or {})) for run, marks in value.diff()))
    if hasattr(value, "to_py"):
        raise Invalid("an item holds a type that it cannot have", field="items")
    plain: Json = _to_json(value)
    return plain


def _to_json(value: Any) -> Any:
    """Return a value as JSON. Yrs has one kind of number: whole ones become integers."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {str(name): _to_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(one) for one in value]
    return value
