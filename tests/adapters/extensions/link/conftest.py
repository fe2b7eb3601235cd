"""The far sandbox of a module, on each kind of foreign machine in turn (`tests.peers.far`)."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from atoll.runtime.spawners.init import InitSpawner
from tests.peers.clouds.machine import FAR_TIER
from tests.peers.far.sandbox import KeptSandbox
from tests.peers.far.sides import KINDS, FarKind, FarSide, started
from tests.runtime import stage

PARAMS = [
    pytest.param(
        kind,
        id=kind.name,
        marks=[
            pytest.mark.skipif(bool(kind.missing), reason=kind.missing),
            *(() if kind.name == "ssh" else FAR_TIER),
        ],
    )
    for kind in KINDS
]


@pytest.fixture(scope="package", params=PARAMS)
def side(request: pytest.FixtureRequest) -> Iterator[FarSide]:
    kind: FarKind = request.param
    with started(kind) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kept(side: FarSide) -> AsyncIterator[KeptSandbox]:
    sandbox = KeptSandbox(side)
    yield sandbox
    await sandbox.close()


@pytest.fixture
def over_the_link(kept: KeptSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `tests.runtime.stage.runtime` serve the far sandbox; its files are at `home / "w"`."""

    @asynccontextmanager
    async def wall(work: Path) -> AsyncIterator[InitSpawner]:
        async with kept.empty() as sandbox:
            if sandbox.workspace is not None:
                work.rmdir()
                work.symlink_to(sandbox.workspace)
            yield sandbox.spawner

    monkeypatch.setattr(stage, "usual_wall", wall)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the slow tier what a module does not name in its `IN_EVERY_RUN`."""
    here = Path(__file__).parent
    for item in items:
        if isinstance(item, pytest.Function) and item.path.parent == here:
            wanted = getattr(item.module, "IN_EVERY_RUN", None)
            names = {item.originalname, item.cls.__name__ if item.cls else ""}
            if wanted is not None and not wanted & names:
                item.add_marker(pytest.mark.slow)
