from pathlib import Path

from atoll.wiring.doctor import sharing

REALM = """\
[auth]
mode = "oidc"
realms = [{realm = "one", issuer = "https://id.example.com", client_id = "atoll"}]
"""


def told(home: Path, text: str) -> list[tuple[str, str]]:
    (home / "config.toml").write_text(text)
    return [(one.level, one.text) for one in sharing.findings(home)]


def test_sandboxes_beside_the_control_plane_are_told_of(tmp_path: Path) -> None:
    ((level, text),) = told(tmp_path, 'extensions = ["namespaces", "docker", "ssh"]\n')
    assert level == "ok"
    assert text.startswith("sandboxes of ext.namespaces, ext.docker run on this machine")


def test_they_are_warned_of_where_several_people_log_in(tmp_path: Path) -> None:
    ((level, text),) = told(tmp_path, f'extensions = ["namespaces"]\n{REALM}')
    assert (level, text.endswith("of several people")) == ("warn", True)
    (finding,) = sharing.findings(tmp_path)
    assert "atoll host drain local" in finding.fix


def test_machine_without_sandboxes_is_said_to_be_free(tmp_path: Path) -> None:
    told_of = told(tmp_path, f'extensions = ["ssh"]\n{REALM}')
    assert told_of == [("ok", "no sandbox runs beside the control plane")]


def test_settings_that_are_wrong_are_said_elsewhere(tmp_path: Path) -> None:
    assert told(tmp_path, "extensions = 5\n") == []
