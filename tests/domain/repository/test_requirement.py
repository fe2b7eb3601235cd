import subprocess
from pathlib import Path

from atoll.domain.repository.requirement import MARKS, SCRIPT, Requirement, question, read_answer


def test_repository_wants_what_its_files_name(tmp_path: Path) -> None:
    for name in ("Cargo.toml", "pyproject.toml", "setup.py"):
        (tmp_path / name).touch()
    done = subprocess.run(
        ["/bin/sh", "-c", SCRIPT, "atoll", *question(str(tmp_path))],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin"},
    )
    found = {one.program: one for one in read_answer(done.stdout)}
    assert set(found) == {"cargo", "python3"}
    assert found["python3"] == Requirement("python3", "pyproject.toml", True)


def test_answer_that_the_script_cannot_give_is_passed_over() -> None:
    said = f"0 absent\n0 there\n{len(MARKS)} there\n999999 there\n1 maybe\n\x1b[2J\n٣ there\n"
    assert read_answer(said) == (Requirement("node", "package.json", False),)
