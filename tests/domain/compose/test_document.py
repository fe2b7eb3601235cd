import json
from dataclasses import replace
from typing import Any

import pytest

from atoll.domain.compose.document import (
    FarFiles,
    StackTerms,
    check_stack,
    document,
    share_limits,
)
from atoll.domain.compose.reading import read_stack
from atoll.domain.errors import Invalid
from atoll.domain.wall.resources import Resources
from tests.domain.compose.test_reading import WHOLE

FILES = FarFiles("/far/boxes/sb_1", "/far/bin/1", 1234, (("/far/sent/2", "/opt/atoll/codex"),))
TERMS = StackTerms(
    image="",
    hostname="box",
    labels=(("atoll.home", "t"), ("atoll.generation", "2")),
    kept_labels=(("atoll.home", "t"),),
    limits=Resources(memory_mb=2048, cpu=3.0, pids=100),
    grace_seconds=600,
    netlink=64,
    files=4096,
)
SMALL = read_stack("""\
services:
  web: {image: web, tmpfs: /a}
  agent: {tmpfs: [/b], volumes: ["v:/tmp"]}
volumes: {v: }
""")


def written(terms: StackTerms = TERMS, text: str = WHOLE) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(document(read_stack(text), terms, FILES))
    return found


def test_every_network_is_internal_and_everything_is_labelled() -> None:
    found = written()
    for network in found["networks"].values():
        assert network["internal"] is True
        assert network["labels"] == dict(TERMS.labels)
        assert network["driver_opts"] == {"com.docker.network.bridge.inhibit_ipv4": "true"}
    assert found["volumes"] == {"files": {"labels": {"atoll.home": "t"}}}
    for name, service in found["services"].items():
        assert service["labels"] == {**dict(TERMS.labels), "atoll.service": name}
    plain = written(replace(TERMS, image="a"), "services: {web: {image: web}}")
    assert "volumes" not in plain


def test_every_service_is_bounded_and_has_no_way_up() -> None:
    services = written()["services"]
    assert sum(int(each["mem_limit"][:-1]) for each in services.values()) <= 2048
    assert sum(each["cpus"] for each in services.values()) <= 3.0
    assert sum(each["pids_limit"] for each in services.values()) <= 100
    for service in services.values():
        assert service["cap_drop"] == ["ALL"]
        assert service["dns"] == ["127.0.0.1"]
        assert "no-new-privileges:true" in service["security_opt"]
        assert service["mem_limit"] == service["memswap_limit"]
        assert not {"privileged", "devices", "ports", "env_file", "build"} & service.keys()
    assert services["web"]["environment"]["PRICE"] == "5$$"
    assert services["web"]["restart"] == "on-failure:5"
    assert services["db"]["restart"] == "no"
    assert services["cache"]["healthcheck"] == {"disable": True}
    assert services["web"]["healthcheck"]["retries"] == 3
    assert services["web"]["depends_on"] == {"db": {"condition": "service_healthy"}}


def test_only_the_agent_has_places_of_the_host_and_they_are_ours() -> None:
    services = written()["services"]
    for name, service in services.items():
        binds = [each for each in service["volumes"] if each["type"] == "bind"]
        assert all(each["source"].startswith("/far/") for each in binds)
        assert bool(binds) is (name == "agent")
    agent = services["agent"]
    assert agent["user"] == "1234:1234"
    assert "cap_add" not in agent
    assert agent["read_only"] is True
    assert agent["entrypoint"][2] == 'exec "$$@" </.atoll/run/key'
    by_target = {each["target"]: each for each in agent["volumes"]}
    assert by_target["/workspace"]["read_only"] is False
    assert by_target["/opt/atoll/codex"]["read_only"] is True
    shut = written(replace(TERMS, writable=False))["services"]["agent"]
    assert {e["target"]: e["read_only"] for e in shut["volumes"]}["/workspace"] is True
    bare = written(replace(TERMS, bare=True))["services"]["agent"]
    assert "/workspace" not in {each["target"] for each in bare["volumes"]}
    assert any(each.startswith("/workspace:") for each in bare["tmpfs"])


def test_places_in_memory_give_way_to_volumes() -> None:
    found = json.loads(document(SMALL, replace(TERMS, image="tools"), FILES))["services"]["agent"]
    assert found["image"] == "tools"
    assert not [each for each in found["tmpfs"] if each.startswith("/tmp:")]
    assert [each for each in found["tmpfs"] if each.startswith("/b:")]


def test_agent_without_an_image_is_refused() -> None:
    with pytest.raises(Invalid, match="no image"):
        document(SMALL, TERMS, FILES)
    with pytest.raises(Invalid, match="no image"):
        check_stack(SMALL, Resources(), "")
    check_stack(SMALL, Resources(), "an/image")


def test_limits_that_do_not_fit_are_refused() -> None:
    stack = read_stack("services: {web: {image: web, mem_limit: 2g, cpus: 2}}")
    with pytest.raises(Invalid, match="memory"):
        share_limits(stack, Resources(memory_mb=2048))
    with pytest.raises(Invalid, match="processors"):
        share_limits(stack, Resources(cpu=2.0))
    usual = share_limits(stack, Resources())
    assert (usual["web"].cpu, usual["agent"].cpu) == (2.0, None)
    assert usual["agent"].memory_mb == 2048
    whole = written(replace(TERMS, limits=Resources()))
    assert "cpus" not in whole["services"]["cache"]
