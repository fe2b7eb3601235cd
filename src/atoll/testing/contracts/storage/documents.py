"""The contract of Documents. Subclass `DocumentsContract` and give it the fixture `documents`."""

import pytest

from atoll.domain.dashboards.item import Fields, RichText
from atoll.domain.errors import Invalid
from atoll.ports.documents import Documents

ONE, TWO = "itm_0000000000000001", "itm_0000000000000002"
TEXT = RichText((("Bold", {"bold": True}), (" and plain é", {})))
NOTE: Fields = {
    "kind": "note",
    "x": -5,
    "y": 2.5,
    "locked": False,
    "task": {"sandbox_id": "sb_1"},
    "text": TEXT,
}


class DocumentsContract:
    """Contract of shared documents: what was merged is the same everywhere, in any order."""

    def test_items_of_a_made_document_are_read_as_they_were_given(
        self, documents: Documents
    ) -> None:
        made = documents.open((documents.made_of({ONE: NOTE, TWO: {"kind": "frame"}}),))
        assert made.item(ONE) == NOTE
        assert sorted(made.ids()) == [ONE, TWO]
        assert made.item("itm_0000000000000003") is None

    def test_updates_merge_in_any_order(self, documents: Documents) -> None:
        updates = [documents.made_of({item_id: {"kind": "note", "x": 1}}) for item_id in (ONE, TWO)]
        there, back = documents.open(updates), documents.open(reversed(updates))
        assert {item_id: there.item(item_id) for item_id in there.ids()} == {
            item_id: back.item(item_id) for item_id in back.ids()
        }
        assert there.clocks() == back.clocks() and len(there.clocks()) == 2

    def test_update_that_is_known_changes_nothing(self, documents: Documents) -> None:
        update = documents.made_of({ONE: NOTE})
        document = documents.open(())
        first = document.apply(update)
        assert first.update and first.items == {ONE}
        again = document.apply(update)
        assert (again.update, again.items) == (b"", frozenset())

    def test_missing_part_makes_another_document_equal(self, documents: Documents) -> None:
        document = documents.open((documents.made_of({ONE: NOTE}),))
        other = documents.open((document.missing({}),))
        document.apply(documents.made_of({TWO: {"kind": "frame"}}))
        applied = other.apply(document.missing(other.clocks()))
        assert applied.items == {TWO}
        assert other.item(TWO) == {"kind": "frame"} and other.clocks() == document.clocks()

    @pytest.mark.parametrize("update", [b"", b"\x01", b"\xff" * 20, b"\x01\x01\x01\x00\x04"])
    def test_bytes_that_are_no_update_are_invalid(
        self, documents: Documents, update: bytes
    ) -> None:
        with pytest.raises(Invalid):
            documents.open((update,))
