"""The client's made modules are current: they say what the declarations say."""

from scripts.client_code import stale_files


def test_made_modules_are_those_of_the_declarations() -> None:
    assert stale_files() == [], "run scripts/client"
