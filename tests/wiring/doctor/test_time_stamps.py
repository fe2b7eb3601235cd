"""The switch of time stamps, as `atoll doctor` looks at it."""

from pathlib import Path

import pytest

from atoll.wiring.doctor.time_stamps import findings


@pytest.mark.parametrize(
    ("each_network", "value", "level"),
    [(True, "1", "ok"), (False, "0", "ok"), (False, "1", "warn"), (False, None, "warn")],
)
def test_machine_that_keeps_copies_is_warned_of(
    tmp_path: Path, each_network: bool, value: str | None, level: str
) -> None:
    switch = tmp_path / "tstamp_allow_data"
    if value is not None:
        switch.write_text(f"{value}\n")
    (found,) = findings(switch, lambda: each_network)
    assert (found.name, found.level) == ("time stamps", level)
    assert bool(found.fix) is (level == "warn")
    assert [each.level for each in findings(switch, lambda: None, "fail")] == [
        "ok" if value == "0" else "warn"
    ]
    (strict,) = findings(switch, lambda: each_network, "fail")
    assert (strict.level == "fail") is (value == "1" and level == "warn")


def test_this_machine_is_looked_at() -> None:
    (found,) = findings()
    assert found.level in ("ok", "warn")
