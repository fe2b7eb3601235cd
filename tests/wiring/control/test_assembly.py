from datetime import timedelta
from pathlib import Path

from atoll.domain.wall.isolation import IsolationLevel
from atoll.wiring.control.assembly import service_settings
from atoll.wiring.control.graph import ServiceSettings
from atoll.wiring.control.settings import read_settings


def test_defaults_of_features_are_those_of_the_settings(tmp_path: Path) -> None:
    found, plain = service_settings(read_settings(tmp_path, {}, {})), ServiceSettings()
    assert found.admission == plain.admission
    assert found.journals == plain.journals
    assert found.provisioning == plain.provisioning
    assert found.policies == plain.policies
    assert found.kept == plain.kept


def test_settings_reach_the_features_that_own_them(tmp_path: Path) -> None:
    said = {
        "max_sandboxes": 7,
        "away_seconds": 9,
        "kept_days": 3,
        "event_days": 5,
        "events_per_sandbox": 11,
        "allow_loopback_remotes": True,
        "require_isolation": "container",
        "mount_roots": ["/srv"],
    }
    found = service_settings(read_settings(tmp_path, {}, said))
    assert found.admission.max_sandboxes == 7
    assert found.admission.allow_loopback_repositories
    assert found.admission.mount_roots == ("/srv",)
    assert found.admission.require_isolation is IsolationLevel.CONTAINER
    assert found.provisioning.require_isolation is IsolationLevel.CONTAINER
    assert found.journals.away_seconds == 9
    assert found.policies.dev
    assert found.kept.retention == timedelta(days=3)
    assert (found.events.age, found.events.most) == (timedelta(days=5), 11)
