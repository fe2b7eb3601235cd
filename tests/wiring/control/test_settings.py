import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.network.bounds import NetworkBounds
from atoll.wire.words.walls import IsolationLevel
from atoll.wiring.control.settings import (
    ControlSettings,
    ignored_variables,
    read_settings,
    setting_names,
)
from tests.places import ROOT

REALM = {"realm": "corp", "issuer": "https://id.example", "client_id": "atoll"}
EVERYTHING = {
    "host": "0.0.0.0",
    "port": 7,
    "public_url": "https://example.com",
    "preview_domain": "p.example",
    "hosts": ["a"],
    "tls_cert": "/c.pem",
    "tls_key": "/k.pem",
    "front_end_ranges": ["10.0.0.5/32"],
    "front_end_secret_file": "/s",
    "trusted_proxies": ["10.0.0.6"],
    "log_level": "debug",
    "log_format": "json",
    "metrics": "token",
    "otlp_endpoint": "http://127.0.0.1:4318",
    "trace_share": 0.5,
    "notify_command": "notify-send Atoll",
    "push_contact": "mailto:me@example.org",
    "allow_loopback_push": True,
    "webhook_ranges": ["10.1.0.0/16"],
    "forge_ranges": ["10.1.0.0/16"],
    "drive_client_id": "client.apps.example",
    "drive_client_secret_file": "/etc/atoll/drive",
    "agent_issuers": {"codex": {"client_id": "ours"}},
    "agent_login_early_seconds": 60,
    "allow_loopback_webhooks": True,
    "database_url": "sqlite:///x",
    "database_connections": 9,
    "database_synced": True,
    "extensions": ["docker"],
    "upstreams": {"openai": "https://example.com"},
    "tunnels": {"ops-bridge": {"kind": "wireguard", "url": "https://bridge.example"}},
    "identities": {"ops-warden": {"kind": "oidc", "url": "https://warden.example"}},
    "docker_host": "unix:///d",
    "cloudflare": {"templates": {"host": "SandboxTools"}},
    "daytona": {"target": "eu"},
    "daytona_self": {"api_url": "https://daytona.example.com/api"},
    "e2b": {"templates": {"host": "tools"}},
    "modal": {"app": "ours"},
    "openshell": {"gateway": "https://example.com", "images": {"host": "tools"}},
    "builds": {"cpu": 1.5},
    "agent_catalogue": ["codex"],
    "master_key_command": ["print"],
    "max_sandboxes": 7,
    "max_working": 3,
    "max_pooled": 40,
    "max_snapshot_gb": 30,
    "quota_defaults": {"cpu": "2", "memory": "1Gi"},
    "requests_per_minute": 600,
    "mount_roots": ["/srv"],
    "require_isolation": "container",
    "allow_loopback_remotes": True,
    "away_seconds": 9,
    "kept_days": 3,
    "event_days": 5,
    "events_per_sandbox": 11,
    "worker_event_days": 6,
    "uri_scheme": "openova",
    "outside_namespaces": ["github"],
    "internal_api_token": "t" * 32,
    "audit_days": 12,
    "door_limits": {"concurrent": 2, "spend_micros": {"openai": 3}},
    "network_bounds": {"full": True, "host_ports": [5432]},
    "share_memory": True,
    "low_disk_mb": 5,
    "runtime_memory_mb": 65,
    "runtime_tasks": 33,
    "control_memory_mb": 257,
    "content_store": "s3://bucket/atoll",
    "content_endpoint": "https://s3.example",
    "content_region": "eu-central-1",
    "content_credentials_file": "/etc/atoll/s3",
    "bus_url": "nats://127.0.0.1",
    "ssh_address": "127.0.0.1:2222",
    "bus_prefix": "catalyst",
    "bus_credentials": "/u.creds",
    "bus_tls_ca": "/ca.pem",
    "bus_tls_cert": "/bc.pem",
    "bus_tls_key": "/bk.pem",
    "bus_days": 30,
    "bus_mb": 5,
    "bus_window_seconds": 9,
    "bus_copies": 3,
    "pat_max_days": 60,
    "pat_default_days": 6,
    "sovereign_id": "here",
    "sandbox_tokens": True,
    "auth": {"mode": "oidc", "realms": [REALM], "session_days": 3},
}


def test_nothing_said_gives_every_section_its_defaults(tmp_path: Path) -> None:
    assert read_settings(tmp_path, {}, {}) == ControlSettings(tmp_path)


def test_every_setting_reaches_the_sections_that_declare_it(tmp_path: Path) -> None:
    assert setting_names() == EVERYTHING.keys()
    found = read_settings(tmp_path, {}, EVERYTHING)
    plain = ControlSettings(tmp_path)
    for name in (
        "server",
        "log",
        "storage",
        "vault",
        "agents",
        "backends",
        "docker",
        "webhooks",
        "zygote",
        "bus",
        "contents",
    ):
        assert getattr(found, name) != getattr(plain, name), name
    own = found.services
    assert (own.admission.max_sandboxes, own.admission.mount_roots) == (7, ("/srv",))
    assert (own.admission.max_working, own.admission.max_pooled) == (3, 40)
    assert own.admission.max_snapshot_gb == 30
    assert own.admission.require_isolation is IsolationLevel.CONTAINER
    assert own.provisioning.require_isolation is IsolationLevel.CONTAINER
    assert own.admission.allow_loopback_remotes
    assert own.policies.allow_loopback_remotes
    assert own.policies.bounds == NetworkBounds(full=True, host_ports=((5432, 5432),))
    assert own.repositories.allow_loopback_remotes
    assert own.tools.uri_scheme == "openova"
    assert own.reachability.tunnels["ops-bridge"].kind == "wireguard"
    assert own.reachability.identities["ops-warden"].url == "https://warden.example"
    assert own.tools.outside_namespaces == ("github",)
    assert own.journals.away_seconds == 9
    assert own.kept.retention == timedelta(days=3)
    assert (own.events.retention.age, own.events.retention.most) == (timedelta(days=5), 11)
    assert own.workers.retention == timedelta(days=6)
    assert own.policies.limits().concurrent == 2
    assert own.policies.limits().spend_micros == {"openai": 3}
    assert found.zygote.mount_roots == ("/srv",)
    assert own.auth.used_realms["corp"].client_id == "atoll"
    assert own.auth.lives.whole == timedelta(days=3)


def test_no_bound_keeps_events_for_good(tmp_path: Path) -> None:
    found = read_settings(tmp_path, {}, {"event_days": 0, "events_per_sandbox": 0})
    assert found.services.events.retention.age is None
    assert found.services.events.retention.most is None


def test_environment_goes_before_the_file_and_flags_before_both(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("port = 1\nkept_days = 1\nmax_sandboxes = 1\n")
    environ = {"ATOLL_PORT": "2", "ATOLL_KEPT_DAYS": "2", "ATOLL_HOSTS": "a, b", "ATOLL_HOST": ""}
    found = read_settings(tmp_path, environ, {"port": 3, "host": None})
    assert (found.server.port, found.server.host) == (3, "127.0.0.1")
    assert found.server.hosts == ("a", "b")
    assert found.services.kept.kept_days == 2
    assert found.services.admission.max_sandboxes == 1


def test_environment_sets_none_of_what_only_the_file_may_say(tmp_path: Path) -> None:
    """It is refused, not ignored."""
    _, variables = documented()
    for name in sorted(EVERYTHING.keys() - variables.keys()):
        with pytest.raises(Invalid, match=f"ATOLL_{name.upper()} sets nothing") as refused:
            read_settings(tmp_path, {f"ATOLL_{name.upper()}": "1"}, {})
        assert refused.value.field == name


def test_misspelt_variable_is_refused_and_anothers_is_not(tmp_path: Path) -> None:
    for wrong, right in (("PROT", "PORT"), ("MAX_SANDBOX", "MAX_SANDBOXES")):
        with pytest.raises(Invalid, match=f"ATOLL_{wrong}; did you mean ATOLL_{right}"):
            read_settings(tmp_path, {f"ATOLL_{wrong}": "1"}, {})
    others = {"HOME", "URL", "TOKEN", "MASTER_KEY", "DATABASE_URL_FILE", "BUS_URL_FILE", "DEMO",
              "PORT_7680_TCP", "SERVICE_HOST", "SERVICE_PORT", "CHECK_HOST", "DOMAIN"}  # fmt: skip
    assert read_settings(tmp_path, {f"ATOLL_{each}": "x" for each in others}, {}).home == tmp_path


LINKED = {
    "ATOLL_PORT": "tcp://10.96.0.7:80",
    "ATOLL_SERVICE_HOST": "10.96.0.7",
    "ATOLL_SERVICE_PORT": "80",
    "ATOLL_SERVICE_PORT_HTTP": "80",
    "ATOLL_PORT_80_TCP": "tcp://10.96.0.7:80",
    "ATOLL_PORT_80_TCP_PROTO": "tcp",
    "ATOLL_PORT_80_TCP_PORT": "80",
    "ATOLL_PORT_80_TCP_ADDR": "10.96.0.7",
}
"""The variables of a pod in whose namespace there is a Service named `atoll`."""


@pytest.mark.parametrize(
    "environ",
    [
        LINKED,
        {name: value.replace("10.96.0.7", "[fd00::7]") for name, value in LINKED.items()},
        {name.replace("ATOLL_", "ATOLL_HOST_"): value for name, value in LINKED.items()},
        {"ATOLL_PORT": "udp://10.96.0.7:53"},
    ],
)
def test_variables_of_a_linked_service_are_none_of_ours(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    assert read_settings(tmp_path, environ, {}) == read_settings(tmp_path, {}, {})
    assert ignored_variables({**environ, "ATOLL_METRICS": "on"}) == sorted(environ)


@pytest.mark.parametrize(
    "value",
    ["eighty", "tcp://", "tcp://10.0.0.1", "tcp://atoll:80", "http://10.0.0.1:80", "10.0.0.1:80",
     "tcp://10.0.0.1:80/x", "tcp://10.0.0.1:99999", "tcp://999.0.0.1:80"],
)  # fmt: skip
def test_port_that_is_wrong_and_no_link_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(Invalid, match=r"ATOLL_PORT is .* not a whole number"):
        read_settings(tmp_path, {**LINKED, "ATOLL_PORT": value}, {})


FLAGS = {"host", "port", "public_url", "tls_cert", "tls_key"}
"""What `atoll up` has options for."""

ELSE = {
    "host": "127.0.0.2", "port": 8, "public_url": "https://b.example", "metrics": "on",
    "log_level": "error", "log_format": "text", "otlp_endpoint": "http://127.0.0.1:9",
    "require_isolation": "policy", "extensions": ["ssh"], "agent_catalogue": ["claude-code"],
    "trusted_proxies": ["10.0.0.9"], "front_end_ranges": ["10.0.0.9/32"],
    "webhook_ranges": ["10.9.0.0/16"], "forge_ranges": ["10.9.0.0/16"],
    "docker_host": "unix:///e", "bus_url": "nats://127.0.0.2", "push_contact": "mailto:b@b.example",
    "internal_api_token": "u" * 32, "bus_copies": 2, "hosts": ["b"], "bus_prefix": "other",
    "ssh_address": "127.0.0.1:2223",
    "uri_scheme": "other", "database_url": "sqlite:///y", "sovereign_id": "there",
    "preview_domain": "q.example", "outside_namespaces": ["slack"],
}  # fmt: skip
"""Another right value of a setting, where one more or a letter more is none."""


TOGETHER = {
    "bus_tls_cert": ["bus_tls_key"],
    "bus_tls_key": ["bus_tls_cert"],
    "tls_cert": ["tls_key"],
    "tls_key": ["tls_cert"],
    "front_end_ranges": ["front_end_secret_file"],
    "front_end_secret_file": ["front_end_ranges"],
    "content_endpoint": ["content_store"],
    "content_credentials_file": ["content_store"],
    "drive_client_id": ["drive_client_secret_file"],
    "drive_client_secret_file": ["drive_client_id"],
}


def toml(value: object) -> str:
    """Return a value as TOML spells it."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {toml(each)}' for key, each in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value)


def documented() -> tuple[set[str], dict[str, str]]:
    """Return the settings of the page, and the variables of those that have one."""
    page = (ROOT / "docs/use/settings.md").read_text()
    rows = re.findall(r"^\| (`[^|]+)\|([^|]*)\|", page, re.MULTILINE)
    named, variables = set(), {}
    for names, variable in rows:
        for name in re.findall(r"`(\w+)`", names):
            named.add(name)
            if found := re.findall(r"`(ATOLL_\w+)`", variable):
                variables[name] = found[-1]
    return named, variables


def spelled(value: object) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def changed(name: str) -> object:
    """Return another right value of a setting."""
    value = EVERYTHING[name]
    if name in ELSE:
        return ELSE[name]
    return value + 1 if isinstance(value, int) else f"{value}x"


def test_page_names_every_setting_and_the_variables_that_are_read() -> None:
    named, variables = documented()
    assert named == setting_names()
    assert all(variables[name] == f"ATOLL_{name.upper()}" for name in variables)
    assert variables.keys() >= FLAGS


@pytest.mark.parametrize("name", sorted(EVERYTHING))
def test_setting_counts_in_the_file_by_variable_and_by_flag_in_this_order(
    name: str, tmp_path: Path
) -> None:
    _, variables = documented()
    together = {each: EVERYTHING[each] for each in TOGETHER.get(name, ())}
    plain = read_settings(tmp_path, {}, {})
    value, other = EVERYTHING[name], changed(name) if name in variables else None
    (tmp_path / "config.toml").write_text(f"{name} = {toml(value)}\n")
    in_file = read_settings(tmp_path, {}, together)
    assert in_file == read_settings(tmp_path, {}, {**together, name: value}) != plain
    if name in variables:
        environ = {variables[name]: spelled(other)}
        by_variable = read_settings(tmp_path, environ, together)
        assert by_variable == read_settings(tmp_path, {}, {**together, name: other}) != in_file
        assert read_settings(tmp_path, environ, {**together, name: value}) == in_file
    wrong = {name: {"nope": [object()]}}
    with pytest.raises(Invalid) as refused:
        read_settings(tmp_path, {}, wrong)
    assert name in f"{refused.value.message} {refused.value.field}"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("auth.mode = 'saml'", "auth: mode is one of local, oidc"),
        ("auth.mode = 'oidc'", "auth: mode = 'oidc' needs 1 to 64 realms"),
        ("auth.nope = 1", "a setting is wrong: .*unknown field `nope`"),
        ("auth.idle_hours = 0", "auth: idle_hours lies between 1 and 2160"),
        ("[[auth.realms]]\nnope = 1", "auth: a realm has no setting 'nope'"),
        ("[[auth.realms]]\nrealm = 'a'", "auth: a realm is wrong: .*issuer"),
        ("nope = 1", "there is no setting 'nope'; there are agent_catalogue, .*worker_event_days$"),
        ("home = '/x'", "there is no setting 'home'"),
        ("services = 1", "there is no setting 'services'"),
        ("port = 70000", "port 70000 must lie between 0 and 65535"),
        ("port = 'x'", r"a setting is wrong: Expected `int`, got `str` - at `\$.port`"),
        ("public_url = 'ftp://x'", "public_url must be an http or https URL without credentials"),
        ("log_level = 'loud'", "log_level is one of debug, info, warning, error"),
        ("docker_host = 'tcp://x'", "docker_host is `unix:///path`"),
        ("builds = {cpu = 0}", r"Expected `float` >= 0.1 - at `\$.builds.cpu`"),
        ("agent_catalogue = ['zzz']", "agent_catalogue: no agent is called 'zzz'"),
        ("agent_catalogue = ['claude']", "agent_catalogue: write claude-code for claude"),
        ("upstreams = {openai = 'http://example.com'}", "upstreams.openai must be https://…"),
        ("max_sandboxes = 0", "max_sandboxes must be at least 1"),
        ("max_working = -1", "max_working must be at least 0"),
        ("max_pooled = -1", "max_pooled must be at least 0"),
        ("max_snapshot_gb = -1", "max_snapshot_gb must be at least 0"),
        (
            "quota_defaults = {sandboxes = 1}",
            "quota_defaults: default limits are of cpu, memory and",
        ),
        ("quota_defaults = {cpu = 'x'}", "quota_defaults: cpu is a number of cores"),
        ("mount_roots = ['relative']", "no plain absolute path"),
        ("require_isolation = 'x'", r"Invalid enum value 'x' - at `\$.require_isolation`"),
        ("away_seconds = 4000", "away_seconds 4000 lies outside 0 to 3600"),
        ("kept_days = 0", r"Expected `int` >= 1 - at `\$.kept_days`"),
        ("event_days = -1", r"Expected `int` >= 0 - at `\$.event_days`"),
        ("runtime_tasks = 1", r"Expected `int` >= 32 - at `\$.runtime_tasks`"),
        ("x", "config.toml is not TOML"),
    ],
)
def test_wrong_setting_is_refused_with_its_name(tmp_path: Path, said: str, reason: str) -> None:
    (tmp_path / "config.toml").write_text(said + "\n")
    with pytest.raises(Invalid, match=reason):
        read_settings(tmp_path, {}, {})


def test_number_of_the_environment_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="ATOLL_PORT is 'x1', not a whole number"):
        read_settings(tmp_path, {"ATOLL_PORT": "x1"}, {})


@pytest.mark.parametrize("setting", ["tunnels", "identities"])
@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ('kind = "x"', "url"),
        ('kind = "x"\nurl = "https://a.example"\ntoken = "t"', "token"),
        ('kind = "a word"\nurl = "https://a.example"', "kind is a word"),
        ('kind = "x"\nurl = "https://me:pass@a.example"', "neither user"),
        ('kind = "x"\nurl = "https://a.example#key"', "neither user"),
        ('kind = "x"\nurl = "javascript:alert(1)"', "must have a host"),
        ('kind = "x"\nurl = "https://a.example/\\u202e"', "must have a host"),
        ('kind = "x"\nurl = "https://[::1"', "must have a host"),
        ('kind = "x"\nurl = "https://a.example:0"', "must have a host"),
    ],
)
def test_entry_that_profiles_could_not_use_stops_the_start(
    tmp_path: Path, setting: str, entry: str, why: str
) -> None:
    (tmp_path / "config.toml").write_text(f"[{setting}.one]\n{entry}\n")
    with pytest.raises(Invalid, match=why):
        read_settings(tmp_path, {}, {})


def test_entry_without_a_plain_name_stops_the_start(tmp_path: Path) -> None:
    entry = 'kind = "x"\nurl = "https://a.example"\n'
    (tmp_path / "config.toml").write_text(f'[tunnels."two words"]\n{entry}')
    with pytest.raises(Invalid, match="no plain name"):
        read_settings(tmp_path, {}, {})
