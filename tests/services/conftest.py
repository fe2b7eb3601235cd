"""What holds for every test of a service."""

import pytest

from tests.peers.event_schemas import events_fit_their_schemas as events_fit_their_schemas


@pytest.fixture(autouse=True)
def _database(database: None) -> None:
    """Each test has the database that `--database` chose."""
