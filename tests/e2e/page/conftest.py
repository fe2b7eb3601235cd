"""One browser for all tests of pages, which therefore run on the session's event loop."""

from pathlib import Path

import pytest
import pytest_asyncio


@pytest.fixture(scope="session", autouse=True)
def _browsers(browsers: None) -> None:
    """All of them share."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if pytest_asyncio.is_async_test(item) and here in item.path.parents:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
