"""The stack of `deploy/compose.yaml`, read: who has privileges, secrets and ports, and what each
service promises. `tests/e2e/walls/test_compose.py` starts it."""

import os
import re
import shutil
import subprocess
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from tests.peers.containers.compose import DEPLOY, read, services
from tests.peers.nats.server import PROGRAM
from tests.places import ROOT

PAGE = ROOT / "docs/run/production.md"
USUAL = {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"}
OURS = {"sandboxes", "atoll", "atoll-two"}


def test_every_service_restarts_is_checked_and_drops_its_capabilities() -> None:
    for name, service in services().items():
        assert service["restart"] == "unless-stopped", name
        assert service["healthcheck"]["test"][0] == "CMD", name
        assert service["cap_drop"] == ["ALL"], name
        assert "privileged" not in service, name
        # Never another image tomorrow under the same name.
        assert re.search(r":[\w.-]*\d|^atoll:local$", service["image"]), name
        if name != "sandboxes":
            assert "no-new-privileges:true" in service["security_opt"], name
            assert set(service.get("cap_add", ())) <= USUAL | {"NET_BIND_SERVICE"}, name


def test_only_the_proxy_is_reached_from_elsewhere() -> None:
    ports = {name: one["ports"] for name, one in services().items() if "ports" in one}
    assert ports.pop("proxy") == ["80:80", "443:443", "443:443/udp"]
    assert all(port.startswith("127.0.0.1:") for found in ports.values() for port in found)


def test_sandboxes_reach_neither_database_nor_bus_and_hold_no_secret() -> None:
    sandboxes = services()["sandboxes"]
    assert sandboxes["networks"] == ["outside"]
    assert not read()["networks"]["outside"]
    assert not {"secrets", "environment"} & sandboxes.keys()
    assert {name for name, one in services().items() if "outside" in one["networks"]} == {
        *OURS,
        "proxy",
    }
    for name in ("front", "back", "login", "monitoring"):
        assert read()["networks"][name]["internal"] is True


def test_only_the_proxy_is_trusted_to_name_clients() -> None:
    (subnet,) = read()["networks"]["front"]["ipam"]["config"]
    address = services()["proxy"]["networks"]["front"]["ipv4_address"]
    assert ip_address(address) in ip_network(subnet["subnet"])
    for name in ("atoll", "atoll-two"):
        assert services()[name]["environment"]["ATOLL_TRUSTED_PROXIES"] == address


def test_production_page_names_every_privilege_of_the_sandboxes() -> None:
    sandboxes, page = services()["sandboxes"], PAGE.read_text()
    asked = [*sandboxes["cap_add"], *sandboxes["security_opt"], *sandboxes["devices"]]
    missing = [one for one in [*asked, *sandboxes["device_cgroup_rules"]] if f"`{one}`" not in page]
    assert not missing


def test_what_the_services_mount_is_there_or_declared() -> None:
    found = read()
    for name, service in services().items():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in found["volumes"] or (DEPLOY / source).exists(), (name, source)
        assert set(service.get("secrets", ())) <= found["secrets"].keys(), name
        assert set(service["networks"]) <= found["networks"].keys(), name
    for service in services().values():
        assert service.get("build") in (
            None,
            {"context": "..", "dockerfile": "deploy/images/atoll/Dockerfile"},
        )


def test_prepare_makes_every_secret_once_and_closes_their_folder(tmp_path: Path) -> None:
    def prepared() -> dict[str, str]:
        subprocess.run(
            [DEPLOY / "prepare", "atoll.example.com", tmp_path], check=True, capture_output=True
        )
        return {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}

    first = prepared()
    assert first.keys() >= read()["secrets"].keys()
    assert prepared() == first
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / ".env").read_text() == "ATOLL_DOMAIN=atoll.example.com\n"
    assert first["postgres_password"] in first["database_url"]
    assert (
        first["nats_password"] in first["bus_url"]
        and first["nats_password"] in first["nats_config"]
    )
    values = [first[name] for name in first if name.endswith(("password", "token", "key"))]
    assert len(set(values)) == len(values) and min(map(len, values)) >= 43
    for bad in ("", "a b", "$(id)", "-x"):
        done = subprocess.run([DEPLOY / "prepare", bad, tmp_path], check=False, capture_output=True)
        assert done.returncode != 0


def test_secrets_are_kept_out_of_git_and_of_the_image() -> None:
    for path in (".gitignore", ".dockerignore"):
        lines = (ROOT / path).read_text().replace("/deploy", "deploy").split()
        assert "deploy/.env" in lines and {"deploy/secrets", "deploy/secrets/"} & set(lines)


def test_image_installs_packages_by_their_names_alone() -> None:
    recipe = (DEPLOY / "images/atoll/Dockerfile").read_text()
    assert not re.search(r"https?:|curl |wget |^ADD |git clone", recipe, re.MULTILINE)
    sources = re.findall(r"^COPY (?:--from=\w+ )?(.*) \S+$", recipe, re.MULTILINE)
    assert sources == [
        *(".", "deploy/images/base/packages", "constraints.txt", "/wheels"),
        "deploy/images/atoll/start",
    ]
    assert all((ROOT / one).exists() for one in sources if one != "/wheels")


def test_a_start_of_an_unknown_part_is_refused() -> None:
    done = subprocess.run(
        [DEPLOY / "images/atoll/start", "everything"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "name sandboxes, control or run" in done.stderr


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="no docker-compose")
def test_compose_accepts_the_file() -> None:
    # Debian 12 has the first version, which knows no name of a project.
    text = re.sub(r"^name:.*$", "", (DEPLOY / "compose.yaml").read_text(), flags=re.MULTILINE)
    done = subprocess.run(
        ["docker-compose", "-f", "-", "--project-directory", str(DEPLOY), "config", "-q"],
        input=text,
        env={**os.environ, "ATOLL_DOMAIN": "atoll.example.com"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("caddy") is None, reason="no Caddy")
def test_caddy_accepts_its_file() -> None:
    argv = ["caddy", "validate", "--adapter", "caddyfile", "--config", "deploy/caddy/Caddyfile"]
    env = {**os.environ, "ATOLL_DOMAIN": "atoll.example.com"}
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Valid configuration" in done.stdout, done.stderr


def test_nats_accepts_its_file(tmp_path: Path) -> None:
    subprocess.run([DEPLOY / "prepare", "a.example.com", tmp_path], check=True, capture_output=True)
    argv = [str(PROGRAM), "-t", "-c", str(tmp_path / "secrets/nats_config")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool")
def test_prometheus_accepts_its_files(tmp_path: Path) -> None:
    shutil.copy(DEPLOY / "prometheus/alerts.yaml", tmp_path)
    (tmp_path / "token").write_text("t")
    text = (DEPLOY / "prometheus/compose.yml").read_text()
    assert "/run/secrets/metrics_token" in text
    text = text.replace("/run/secrets/metrics_token", str(tmp_path / "token"))
    (tmp_path / "prometheus.yml").write_text(text)
    argv = ["promtool", "check", "config", str(tmp_path / "prometheus.yml")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
