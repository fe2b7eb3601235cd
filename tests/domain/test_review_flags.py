from atoll.domain.review_flags import flagged


def test_flags_name_what_runs_on_a_persons_machine() -> None:
    paths = ["src/a.py", ".envrc", "web/package.json", ".github/workflows/ci.yml", "docs/Makefile"]
    assert flagged(paths) == tuple(paths[1:])


def test_flags_nothing_in_plain_sources() -> None:
    assert flagged(["src/a.py", "README.md", "github/x"]) == ()
