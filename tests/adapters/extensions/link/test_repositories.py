"""Repositories on each kind of foreign machine: the preparer's own suite, over a link."""

from collections.abc import Iterator

import pytest

from tests.adapters.extensions.link.suites import suite_of
from tests.peers.far.repositories import FarRuntimes
from tests.peers.far.sides import FarSide
from tests.services.library import test_workspaces
from tests.services.library.test_workspaces import TestWorkspaces, world

__all__ = ["TestWorkspaces", "world"]

pytestmark = pytest.mark.timeout(300)
globals().update(suite_of(test_workspaces))


@pytest.fixture(scope="module")
def runtimes(side: FarSide) -> Iterator[FarRuntimes]:
    made = FarRuntimes(side)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def far(runtimes: FarRuntimes, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the suite's sandboxes provisioned there."""
    monkeypatch.setattr(test_workspaces, "BoxedRuntime", runtimes.boxed)
    yield
    runtimes.end_sandboxes()
