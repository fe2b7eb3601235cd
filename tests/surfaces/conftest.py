"""Tests of surfaces run on either database."""

import pytest


@pytest.fixture(autouse=True)
def _database(database: None) -> None:
    """Each test has the database that `--database` chose."""
