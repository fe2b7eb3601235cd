"""Suites of the clouds: in the usual run, E2B stands for all of them."""

import pytest

from tests.peers.clouds.machine import FAR_TIER

_CLOUDS = {"cloudflare", "daytona", "modal", "openshell"}
_LONG = {"test_extension.py", "test_spawner.py"}


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.path.parent.name in _CLOUDS and item.path.name in _LONG:
        for mark in FAR_TIER:
            item.add_marker(mark)
