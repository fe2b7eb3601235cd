"""The contract of a Host. `up` is left out: it never returns.

Subclass `HostContract` in a test module and give it the fixture `host`.
"""

from pathlib import Path

import pytest

from atoll.domain.errors import NotFound
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

    def test_findings_are_named_once_and_say_what_to_do(self, host: Host, tmp_path: Path) -> None:
        findings = host.doctor(tmp_path / "home")
        assert len({finding.name for finding in findings}) == len(findings)
        for finding in findings:
            assert finding.level != "fail" or finding.fix

    def test_what_is_not_there_cannot_be_removed(self, host: Host, tmp_path: Path) -> None:
        home = tmp_path / "home"
        with pytest.raises(NotFound):
            host.images(home).remove("absent")
        for shelved in host.agents(home).list():
            with pytest.raises(NotFound):
                host.agents(home).remove(shelved.agent.name, None)
        assert list(host.images(home).prune()) == []
