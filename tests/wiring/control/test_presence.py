"""Control planes of one home: locks and notes by their names."""

import json
from pathlib import Path

import pytest

from atoll.domain.errors import Conflict, Invalid
from atoll.wiring.control.presence import Bind, alone, hold_presence, is_alone, place, places

BIND = Bind("127.0.0.1")


def _nothing() -> None:
    return


def test_replicas_of_one_home_have_a_lock_and_a_note_each(tmp_path: Path) -> None:
    with hold_presence(tmp_path, BIND, prepare=_nothing) as main:
        assert is_alone(tmp_path, None)
        with hold_presence(tmp_path, BIND, prepare=_nothing, replica="two") as two:
            assert main.url != two.url
            assert json.loads((tmp_path / "run/control.json").read_text())["url"] == main.url
            assert json.loads((tmp_path / "run/replica-two.json").read_text())["url"] == two.url
            assert not is_alone(tmp_path, None)
            assert not is_alone(tmp_path, "two")
            with (
                pytest.raises(Conflict),
                hold_presence(tmp_path, BIND, prepare=_nothing, replica="two"),
            ):
                pass
    assert is_alone(tmp_path, "two")
    assert places(tmp_path) == [place(tmp_path, None), place(tmp_path, "two")]


def test_database_is_left_alone_while_any_replica_runs(tmp_path: Path) -> None:
    with (
        hold_presence(tmp_path, BIND, prepare=_nothing, replica="two"),
        pytest.raises(Conflict),
        alone(tmp_path),
    ):
        pass


@pytest.mark.parametrize("name", ["", "../x", "a/b", "A", "-a", "a" * 33, "a\n", "."])
def test_name_that_a_replica_cannot_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Invalid):
        place(tmp_path, name)
