from dataclasses import replace

import pytest

from atoll.domain.compose.reading import read_stack
from atoll.domain.compose.stack import AGENT, HealthCheck, Service, StackMount
from atoll.domain.errors import Invalid

WHOLE = """\
version: "3.9"
name: shop
x-notes:
  anything: [1, 2]
services:
  web:
    image: registry.example/web:1
    command: serve --port "80 80"
    entrypoint: ["/run", 7, true]
    environment:
      PRICE: "5$$"
      COUNT: 3
      DEBUG: false
    depends_on:
      db:
        condition: service_healthy
    expose: ["80"]
    networks:
      back:
        aliases: [front]
      side:
    volumes:
      - files:/srv/files:ro
      - {type: tmpfs, target: /scratch}
      - {type: volume, source: files, target: /srv/other, read_only: true}
    tmpfs: /cache
    working_dir: /srv
    user: "1000:1000"
    init: true
    read_only: true
    restart: unless-stopped
    stop_grace_period: 20s
    mem_limit: 256m
    cpus: "0.5"
    healthcheck:
      test: curl -f http://127.0.0.1
      interval: 5s
      timeout: 2s
      start_period: 1m
      retries: 3
  db:
    image: db
    environment: ["A=1", "B=x=y"]
    depends_on: [cache]
    networks: [back]
    volumes: [files:/data]
    tmpfs: [/one, /two]
    restart: "no"
    mem_limit: 1g
    cpus: 1
    healthcheck: {test: [CMD, "true"]}
  cache:
    image: cache
    command: null
    networks: [side]
    restart: false
    healthcheck: {disable: true}
  agent:
    image: tools
    networks: [back]
    environment: {WEB: "http://web"}
    volumes: [files:/srv/files:rw]
networks:
  back: {driver: bridge, internal: true}
  side:
volumes:
  files: {driver: local}
"""


def test_whole_file_is_read() -> None:
    stack = read_stack(WHOLE)
    web, db, cache, agent = stack.services
    assert web == Service(
        name="web",
        image="registry.example/web:1",
        command=("serve", "--port", "80 80"),
        entrypoint=("/run", "7", "true"),
        environment=(("PRICE", "5$"), ("COUNT", "3"), ("DEBUG", "false")),
        depends_on=(("db", "service_healthy"),),
        networks=(("back", ("front",)), ("side", ())),
        mounts=(
            StackMount("/srv/files", "files", read_only=True),
            StackMount("/scratch"),
            StackMount("/srv/other", "files", read_only=True),
            StackMount("/cache"),
        ),
        health=HealthCheck(("CMD-SHELL", "curl -f http://127.0.0.1"), 5, 2, 60, 3),
        working_dir="/srv",
        user="1000:1000",
        init=True,
        read_only=True,
        restarts=True,
        stop_seconds=20,
        memory_mb=256,
        cpu=0.5,
    )
    assert db.environment == (("A", "1"), ("B", "x=y"))
    assert db.depends_on == (("cache", "service_started"),)
    assert (db.memory_mb, db.cpu, db.restarts) == (1024, 1.0, False)
    assert db.health == HealthCheck(("CMD", "true"))
    assert (cache.health, cache.command) == (HealthCheck(), None)
    assert stack.names == ("web", "db", "cache", "front")
    assert stack.alone().services == (agent,)
    assert (stack.agent, stack.others) == (agent, (web, db, cache))
    assert stack.networks == ("back", "side")
    assert stack.volumes == ("files",)


def test_file_without_an_agent_gets_one_in_every_network() -> None:
    stack = read_stack(
        "services:\n  web: {image: web, networks: [a, default]}\nnetworks: {a: , b: }\n"
    )
    assert stack.agent == Service(AGENT, networks=(("a", ()), ("b", ())))
    assert stack.networks == ("a", "b", "default")
    alone = read_stack("services: {web: {image: web, healthcheck: {test: [NONE]}}}")
    assert alone.agent.networks == (("default", ()),)
    assert alone.others[0].health == HealthCheck()


SERVICE = [
    "privileged: true",
    "cap_add: [SYS_ADMIN]",
    "devices: [/dev/sda]",
    "device_cgroup_rules: ['c 1:3 rwm']",
    "security_opt: [seccomp=unconfined]",
    "cgroup_parent: /other",
    "cgroup: host",
    "env_file: .env",
    "extends: {file: other.yml, service: x}",
    "configs: [one]",
    "secrets: [one]",
    "extra_hosts: ['out:host-gateway']",
    "network_mode: host",
    "pid: host",
    "ipc: host",
    "uts: host",
    "userns_mode: host",
    "volumes_from: [other]",
    "external_links: [other]",
    "sysctls: {net.ipv4.ip_forward: 1}",
    "dns: 1.1.1.1",
    "blkio_config: {weight: 1}",
    "gpus: all",
    "runtime: nvidia",
    "network_mode: 'container:other'",
    "pid: 'service:agent'",
    "group_add: [docker]",
    "storage_opt: {size: 9G}",
    "oom_kill_disable: true",
    "oom_score_adj: -1000",
    "pids_limit: -1",
    "dns_search: example.org",
    "dns_opt: [use-vc]",
    "links: [agent]",
    "credential_spec: {file: other.json}",
    "isolation: hyperv",
    "volumes: ['/:/host']",
    "volumes: ['./here:/there']",
    "volumes: ['~/here:/there']",
    "volumes: ['/anonymous']",
    "volumes: ['files:/x:rshared']",
    "volumes: ['files:/']",
    "volumes: ['files:/a/../b']",
    "volumes: ['files:relative']",
    "volumes: ['files:/proc/sys']",
    "volumes: ['files:/workspace']",
    "volumes: ['files://dev']",
    "volumes: ['files:/a', 'files:/a']",
    "volumes: ['other:/a']",
    "volumes: [{type: bind, source: /, target: /host}]",
    "volumes: [{type: npipe, source: x, target: /host}]",
    "volumes: [{type: volume, source: files, target: /a, volume: {nocopy: true}}]",
    "volumes: [{type: volume, source: /etc, target: /a}]",
    "volumes: files",
    "tmpfs: '/a:size=9g'",
    "environment: {HOME: '${HOME}'}",
    "environment: {A: $HOME}",
    "environment: ['A=$$$B']",
    "environment: [HOME]",
    "environment: {HOME: }",
    "environment: {'A B': x}",
    'command: "echo \'open"',
    "image: '${IMAGE}'",
    "image: '--flag'",
    "user: 'a b'",
    "networks: [elsewhere]",
    "networks: {default: {ipv4_address: 10.0.0.1}}",
    "networks: {default: {aliases: ['bad name']}}",
    "networks: {}",
    "depends_on: [nobody]",
    "depends_on: [web]",
    "depends_on: {agent: {condition: whenever}}",
    "restart: sometimes",
    "stop_grace_period: 1h",
    "mem_limit: 1b",
    "mem_limit: plenty",
    "cpus: many",
    "cpus: 0",
    "healthcheck: {test: []}",
    "healthcheck: {test: [sh]}",
    "healthcheck: {test: [CMD, '$X']}",
    "healthcheck: {interval: 3h}",
    "working_dir: here",
]


@pytest.mark.parametrize("line", SERVICE)
def test_service_with_a_key_off_the_list_is_refused_with_its_line(line: str) -> None:
    kept = "" if line.startswith("image") else "    image: web\n"
    text = f"volumes: {{files: }}\nservices:\n  web:\n{kept}    {line}\n"
    with pytest.raises(Invalid) as caught:
        read_stack(text)
    at = (
        4
        if not kept or "mounts two" in caught.value.message or "names the" in caught.value.message
        else 5
    )
    assert caught.value.message.startswith(f"Line {at}, "), caught.value.message


ROOT = [
    "include: [other.yml]",
    "configs: {a: {file: /etc/shadow}}",
    "secrets: {a: {environment: HOME}}",
    "networks: {a: {external: true}}",
    "networks: {a: {driver: host}}",
    "networks: {a: {internal: false}}",
    "networks: {a: {driver_opts: {parent: eth0}}}",
    "networks: {a: {ipam: {}}}",
    "networks: {'A_': }",
    "volumes: {a: {external: true}}",
    "volumes: {a: {driver: nfs}}",
    "volumes: {a: {driver_opts: {type: none, o: bind, device: /}}}",
    "volumes: {a: {name: other}}",
    "volumes: [a]",
    "services: {}",
    "services: {web: {command: x}}",
    "profiles: x",
    "? [a]\n: b",
]


@pytest.mark.parametrize("line", ROOT)
def test_file_with_a_key_off_the_list_is_refused_with_its_line(line: str) -> None:
    services = "" if line.startswith("services") else "services: {web: {image: web}}\n"
    with pytest.raises(Invalid, match=r"^Line [12], "):
        read_stack(f"{services}{line}\n")


@pytest.mark.parametrize("line", ["command: 'x'", "user: root", "working_dir: /", "init: true"])
def test_agent_runs_nothing_of_the_file(line: str) -> None:
    with pytest.raises(Invalid, match=r"Line 4, .*not allowed"):
        read_stack(f"services:\n  agent:\n    image: a\n    {line}\n")


def test_too_many_services_words_or_variables_are_refused() -> None:
    many = "\n".join(f"  s{i}: {{image: a}}" for i in range(21))
    with pytest.raises(Invalid, match="1 to 20"):
        read_stack(f"services:\n{many}\n")
    words = ", ".join(["a"] * 201)
    with pytest.raises(Invalid, match="at most 200"):
        read_stack(f"services: {{a: {{image: a, command: [{words}]}}}}")
    pairs = ", ".join(f"A{i}: a" for i in range(201))
    with pytest.raises(Invalid, match="at most 200"):
        read_stack(f"services: {{a: {{image: a, environment: {{{pairs}}}}}}}")


HARMLESS = [
    ("build: {context: ../..}", "build"),
    ("build: .", "build"),
    ("ports: ['80:80', {target: 80, published: 8080}]", "ports"),
    ("labels: {traefik.enable: 'true'}", "labels"),
    ("labels: ['a=b']", "labels"),
    ("container_name: mine", "container_name"),
    ("hostname: mine", "hostname"),
    ("logging: {driver: syslog, options: {max-size: 1m}}", "logging"),
    ("cap_drop: [ALL]", None),
    ("ulimits: {memlock: -1, nofile: {soft: 1, hard: 2}}", "ulimits"),
    ("deploy: {replicas: 3, restart_policy: {condition: any}}", "deploy"),
    ("shm_size: 9g", "shm_size"),
    ("platform: linux/amd64", "platform"),
    ("mem_reservation: 1g", "mem_reservation"),
    ("stop_signal: SIGINT", "stop_signal"),
    ("expose: [80]", None),
    ("tty: true", None),
    ("stdin_open: true", None),
    ("pull_policy: always", None),
    ("x-mine: {a: b}", None),
    ("depends_on: {agent: {condition: service_started, restart: true, required: false}}", None),
    ("healthcheck: {test: 'true', start_interval: 1s}", None),
]


@pytest.mark.parametrize(("line", "noted"), HARMLESS)
def test_harmless_key_is_left_out_with_a_note(line: str, noted: str | None) -> None:
    bare = read_stack("services:\n  web:\n    image: web\n")
    read = read_stack(f"services:\n  web:\n    image: web\n    {line}\n")
    if "depends_on" not in line and "healthcheck" not in line:
        assert replace(read, notes=()) == bare
    paths = [each.split(" has no effect: ")[0] for each in read.notes]
    assert paths == ([] if noted is None else [f"services.web.{noted}"])


def test_limits_of_deploy_count_as_the_services_own_do() -> None:
    limits = "deploy: {resources: {limits: {cpus: '0.5', memory: 512M}}}"
    (web,) = read_stack(f"services: {{web: {{image: web, {limits}}}}}").others
    assert (web.cpu, web.memory_mb) == (0.5, 512)
    (web,) = read_stack(f"services: {{web: {{image: web, mem_limit: 64m, {limits}}}}}").others
    assert (web.cpu, web.memory_mb) == (0.5, 64)


ORDINARY = """
x-common: &common
  restart: unless-stopped
  environment: &env {TZ: UTC, LEVEL: "${LEVEL:-info}"}
services:
  web_app:
    <<: *common
    image: web
    ports: ["8080:80"]
    environment: {<<: *env, PORT: 80}
    volumes: ["db_data:/data"]
  worker:
    <<: [*common]
    image: web
    restart: "no"
  seed:
    image: seed
    profiles: [tools]
    privileged: true
volumes: {db_data: }
"""


def test_anchors_merges_defaults_and_profiles_of_an_ordinary_file() -> None:
    stack = read_stack(ORDINARY)
    web, worker = stack.others
    assert web.environment == (("TZ", "UTC"), ("LEVEL", "info"), ("PORT", "80"))
    assert worker.environment == (("TZ", "UTC"), ("LEVEL", "info"))
    assert (web.name, web.restarts, worker.restarts) == ("web_app", True, False)
    assert web.mounts == (StackMount("/data", "db_data"),)
    assert len(stack.notes) == 2 and "services.seed is left out" in stack.notes[1]


def test_refusals_come_all_at_once() -> None:
    text = """services:
  a: {image: a, privileged: true, pid: host}
  b: {image: b, networks: [none], volumes: ['/:/x']}
secrets: {}
configs: {}
"""
    with pytest.raises(Invalid) as caught:
        read_stack(text)
    said = caught.value.message
    for part in ("a.privileged", "a.pid", "b.volumes[0]", "secrets", "configs"):
        assert part in said
    assert caught.value.field == "services.a.privileged"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: &a [*a]", "which no value above has"),
        ("services: *b", "which no value above has"),
        ("a: &a [1,2]\nservices: {<<: *a}", "no mapping"),
        (
            "a: &a [x,x,x,x,x,x,x,x,x]\n"
            + "".join(
                f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n"
                for old, new in ("ab", "bc", "cd", "de")
            ),
            "one value too many",
        ),
    ],
)
def test_aliases_are_bounded_and_never_hold_themselves(text: str, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        read_stack(text)
