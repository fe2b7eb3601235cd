"""Shared documents on Yrs. The library is loaded when the first document is opened."""

from collections.abc import Iterable, Mapping

from atoll.domain.dashboards.item import Fields
from atoll.ports.documents import Document


class YrsDocuments:
    """The `ports.documents.Documents` on Yrs."""

    def open(self, updates: Iterable[bytes]) -> Document:
        """See the port."""
        from atoll.adapters.documents.yrs import YrsDocument

        document = YrsDocument()
        for update in updates:
            document.apply(update)
        return document

    def made_of(self, items: Mapping[str, Fields]) -> bytes:
        """See the port."""
        from atoll.adapters.documents.yrs import made_of

        return made_of(items)
