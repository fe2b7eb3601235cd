"""The contract of a Host. `up` is left out: it never returns.

Subclass `HostContract` in a test module and give it the fixture `host`.
"""

from pathlib import Path

from atoll.ports.host import Host


class HostContract:
    """A home need not exist to be looked at, and looking changes nothing."""

    def test_doctor_looks_and_changes_nothing(self, host: Host, tmp_path: Path) -> None:
        findings = host.doctor(tmp_path / "home")
        assert findings
        for finding in findings:
            assert finding.name and finding.text
            assert finding.level in ("ok", "warn", "fail")
        assert list(tmp_path.iterdir()) == []

    def test_end_of_what_does_not_run_is_no_error(self, host: Host, tmp_path: Path) -> None:
        host.down(tmp_path)
        host.down(tmp_path)

    def test_shelves_of_an_absent_home_are_empty(self, host: Host, tmp_path: Path) -> None:
        home = tmp_path / "home"
        assert list(host.images(home).list()) == []
        assert not any(shelved.versions for shelved in host.agents(home).list())
        assert not home.exists()
