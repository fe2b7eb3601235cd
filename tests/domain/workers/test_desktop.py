from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.ids import DesktopId, OrgId, PrincipalId
from atoll.domain.wall.isolation import Isolation
from atoll.domain.workers.desktop import Desktop, judge_desktop_name, judge_isolation
from atoll.domain.workers.heartbeat import STALE_AFTER
from atoll.wire.words.walls import IsolationLevel
from atoll.wire.words.workers import LONGEST_NOTE, MOST_NOTES

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DESKTOP = Desktop(DesktopId("dk_a"), OrgId("o"), PrincipalId("ada"), "laptop", NOW)


def test_desktop_is_there_while_its_lane_was_heard_lately() -> None:
    assert not DESKTOP.is_there(NOW)
    heard = replace(DESKTOP, heard_at=NOW)
    assert heard.is_there(NOW) and heard.is_there(NOW + STALE_AFTER - timedelta(microseconds=1))
    assert not heard.is_there(NOW + STALE_AFTER)


@pytest.mark.parametrize("name", ["laptop", "a", "0-9", "x" * 40])
def test_name_of_a_desktop(name: str) -> None:
    assert judge_desktop_name(name) == name


@pytest.mark.parametrize("name", ["", "Laptop", "-a", "a b", "../a", "x" * 41, "a\n", "é"])
def test_name_that_no_desktop_has(name: str) -> None:
    with pytest.raises(Invalid) as error:
        judge_desktop_name(name)
    assert error.value.field == "desktop"


def test_wall_that_says_too_much_is_refused() -> None:
    wall = Isolation(IsolationLevel.NONE, "none", ("all: no wall",))
    assert judge_isolation(wall) is wall
    for notes in (("x",) * (MOST_NOTES + 1), ("x" * (LONGEST_NOTE + 1),)):
        with pytest.raises(Invalid):
            judge_isolation(replace(wall, degraded=notes))
