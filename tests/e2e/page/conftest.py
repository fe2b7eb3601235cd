"""One browser for all tests of pages, which therefore run on the session's event loop."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.peers.browsers import shared_browsers


@pytest_asyncio.fixture(scope="session", loop_scope="session", autouse=True)
async def _browsers() -> AsyncIterator[None]:
    async with shared_browsers():
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if pytest_asyncio.is_async_test(item) and here in item.path.parents:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
