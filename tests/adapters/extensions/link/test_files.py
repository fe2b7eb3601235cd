"""Files on each kind of foreign machine: the runtime's own suite, over a link."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.adapters.extensions.link.suites import suite_of
from tests.peers.far.sandbox import FarSandbox, KeptSandbox
from tests.runtime.files import test_runtime_files
from tests.runtime.files.test_runtime_files import Client, served

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]
globals().update(suite_of(test_runtime_files))


@pytest_asyncio.fixture(loop_scope="module")
async def sandbox(kept: KeptSandbox) -> AsyncIterator[FarSandbox]:
    async with kept.empty() as made:
        yield made


@pytest.fixture
def root(sandbox: FarSandbox) -> Path:
    if sandbox.workspace is None:
        pytest.skip("its files are seen by the link alone")
    return sandbox.workspace


@pytest.fixture
def changed() -> list[str]:
    return []


@pytest_asyncio.fixture(loop_scope="module")
async def client(sandbox: FarSandbox, changed: list[str]) -> AsyncIterator[Client]:
    async with served(sandbox.spawner, changed) as made:
        yield made
