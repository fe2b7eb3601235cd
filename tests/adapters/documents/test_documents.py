import pytest

from atoll.adapters.documents.documents import YrsDocuments
from atoll.testing import DocumentsContract


class TestYrsDocuments(DocumentsContract):
    @pytest.fixture
    def documents(self) -> YrsDocuments:
        return YrsDocuments()
