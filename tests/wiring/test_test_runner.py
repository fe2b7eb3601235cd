"""`scripts/testing`, the runner of these tests: what it counts, repeats and measures."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from scripts.testing.groups import GROUPS, IDLE, ROOT, Group, affected_of
from scripts.testing.processor_time import Meter
from scripts.testing.retries import note_occurrences
from scripts.testing.run import Run
from scripts.testing.summary import print_summary
from scripts.testing.tiers import ALL, TIERS

TESTS = """\
import pathlib
import pytest

def test_fails_at_first():
    flag = pathlib.Path(__file__).with_name("flag")
    if flag.exists():
        flag.unlink()
    else:
        flag.touch()
        assert False

def test_computes():
    sum(range(5_000_000))

@pytest.mark.skip(reason="not on this machine")
def test_is_skipped(): ...
"""


@pytest.fixture
def group(tmp_path: Path) -> Group:
    """A group with a test that fails at first, and passes when it is tried again."""
    (tmp_path / "test_some.py").write_text(TESTS)
    return Group("some", (str(tmp_path),), options=("-ra", "-p", "no:schemathesis"))


def run_of(folder: Path, meter: Meter | None = None) -> Run:
    logs = tempfile.mkdtemp(dir=folder)
    return Run(Path(logs), retried=folder / "retried.txt", meter=meter)


def go(run: Run, group: Group) -> bool:
    nothing = Group("nothing", ())
    return run.run_all([group], idle=nothing, alone=nothing)


def test_accident_is_noted_and_is_a_failure_the_third_time(
    tmp_path: Path, group: Group, capfd: pytest.CaptureFixture[str]
) -> None:
    results = [go(run_of(tmp_path), group) for _time in range(2)]
    third = run_of(tmp_path)
    results.append(go(third, group))
    print_summary(third, good=results[-1])
    said = capfd.readouterr().out
    assert results == [True, True, False]
    assert (tmp_path / "retried.txt").read_text().count("::test_fails_at_first") == 3
    assert "must be mended:\n" in said
    assert "Skipped: 1, and why:\n  1 × not on this machine (" in said
    assert "  1 failed  1 passed  1 skipped" in said
    assert len(re.findall(r"^1 failed, 1 passed, 1 skipped in ", said, re.M)) == 3


def test_failure_of_a_deterministic_group_is_not_tried_again(tmp_path: Path, group: Group) -> None:
    run = run_of(tmp_path)
    sure = Group(group.name, group.paths, options=group.options, deterministic=True)
    assert not go(run, sure)
    assert not (tmp_path / "retried.txt").exists()


def test_measured_run_names_the_dearest_test(tmp_path: Path, group: Group) -> None:
    run = run_of(tmp_path, meter=Meter(tmp_path))
    go(run, group)
    assert run.meter is not None
    report = [*run.meter.report()]
    dearest = report[report.index("The dearest of 4 tests:") + 1 :]
    computing = next(place for place, line in enumerate(dearest) if "::test_computes" in line)
    assert computing <= 1  # Only the start of pytest is dearer.


def test_occurrences_survive_a_merge_of_two_branches(tmp_path: Path) -> None:
    file = tmp_path / "retried.txt"
    assert note_occurrences(file, ["a::b[1 2]"], "2026-01-01") == []
    ours = file.read_text()
    assert note_occurrences(file, ["a::b[1 2]", "a::c"], "2026-01-02") == []
    file.write_text(file.read_text() + ours)
    assert note_occurrences(file, ["a::c"], "2026-01-03") == []
    assert note_occurrences(file, ["a::b[1 2]"], "2026-01-03") == ["a::b[1 2]"]


def test_no_test_has_failed_beside_others_too_often() -> None:
    copy = (ROOT / "tests" / "retried.txt").read_text()
    lines = [line.split(" ", 1)[1] for line in copy.splitlines() if not line.startswith("#")]
    assert not [test for test in lines if lines.count(test) >= 3]


def test_every_test_file_is_in_one_group_of_the_usual_run() -> None:
    files = [str(one.relative_to(ROOT)) for one in (ROOT / "tests").rglob("test_*.py")]
    groups = [one for one in (*GROUPS, IDLE) if one.name != "postgres"]
    groups = [*groups, Group("layout", ("tests/layout",)), Group("vendors", ("tests/vendors",))]
    counts = {file: sum(bool(affected_of(one, [file])) for one in groups) for file in files}
    assert {file: count for file, count in counts.items() if count != 1} == {}


def test_every_path_of_a_group_or_tier_is_there() -> None:
    tiers = (step.words for steps in (*TIERS.values(), *ALL.values()) for step in steps)
    words = {word for words in tiers for word in words if word.startswith("tests/")}
    paths = {path for group in (*GROUPS, IDLE) for path in (*group.paths, *group.ignored)}
    assert [path for path in sorted(paths | words) if not (ROOT / path).exists()] == []


def test_every_tier_but_that_of_all_agents_is_in_the_run_of_all() -> None:
    assert set(TIERS) - {"agents"} <= set(ALL)


@pytest.mark.parametrize("tier", sorted(TIERS))
def test_makefile_has_a_target_for_each_tier(tier: str) -> None:
    # Of `make test` itself, which may run this: a make within a make says where it is.
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    argv = ["make", "-n", f"test-{tier}"]
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == [f"scripts/test {tier}"], done


def test_runner_passes_words_to_pytest() -> None:
    argv = [sys.executable, "-m", "scripts.testing", "--collect-only", "-q", __file__]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "::test_runner_passes_words_to_pytest" in done.stdout, done
