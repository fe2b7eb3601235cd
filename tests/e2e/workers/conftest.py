"""A server whose Codex is the counting app-server."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from atoll.domain.agents.registry import find
from atoll.testing.server import TestServer, test_server

HERE = Path(__file__).parent


@contextmanager
def counting(env: Mapping[str, str] | None = None) -> Iterator[TestServer]:
    with test_server(env) as started:
        codex = find("codex")
        assert codex.package is not None
        place = started.home / "agents" / "codex" / codex.package.version / "bin"
        place.mkdir(parents=True)
        shutil.copy(HERE / "app_server.py", place / "codex")
        (place / "codex").chmod(0o755)
        yield started


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with counting() as started:
        yield started
