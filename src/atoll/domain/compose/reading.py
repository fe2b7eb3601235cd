"""Reading of a compose file: what stands on no list here is rejected with its line.

Nothing of a file is passed on as it is: `document` writes another one of what was read.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Final, TypeVar

from atoll.domain.compose.left_out import NOTES, note
from atoll.domain.compose.stack import (
    AGENT,
    DEFAULT_NETWORK,
    HealthCheck,
    Service,
    Stack,
    StackMount,
)
from atoll.domain.errors import Invalid
from atoll.domain.files.host_mount import below_any
from atoll.domain.profile import yaml_fields
from atoll.domain.profile.yaml_fields import Fields, Refusals, read_number, read_whole_number
from atoll.domain.profile.yaml_tree import MAX_BYTES, Node, read_tree
from atoll.wire.words.walls import WORKSPACE

_T = TypeVar("_T")

UPLOAD_FIELD: Final = "inputs.compose_bundle"
"""The field of a file that comes with a create."""

MAX_SERVICES: Final = 20
MAX_NAMED: Final = 20
MAX_WORDS: Final = 200
MAX_MEMORY_MB: Final = 2**20
SILENT: Final = ("cap_drop", "expose", "attach", "stdin_open", "tty", "pull_policy")
"""Keys without a note, since nothing is missed without them."""

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,38}[a-z0-9])?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")
_IMAGE = re.compile(r"[a-z0-9][A-Za-z0-9._:/@-]{0,254}")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,31})?")
_SIZE = re.compile(r"([0-9]{1,12})([bkmg]?)b?", re.IGNORECASE)
_CPU = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,6})?")
_DEFAULT = re.compile(r"(\$\$)|\$\{[A-Za-z_][A-Za-z0-9_]*:?-([^${}]*)\}")
_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_CONDITIONS = ("service_started", "service_healthy", "service_completed_successfully")
_TESTS = ("NONE", "CMD", "CMD-SHELL")
_RESERVED = ("/.atoll", "/dev", "/proc", "/sys", WORKSPACE, "/home/agent", "/opt/atoll")

WHY: Final = {
    "blkio_config": "it reaches devices of the host",
    "cap_add": "capabilities are those that Atoll gives",
    "cgroup": "it leaves the control group of the sandbox",
    "cgroup_parent": "it leaves the control group of the sandbox",
    "configs": "they are files of another place",
    "device_cgroup_rules": "it reaches devices of the host",
    "devices": "it reaches devices of the host",
    "dns": "names are resolved inside the sandbox only",
    "driver_opts": "they are options of the host's daemon",
    "env_file": "an uploaded file brings no other: write them out, or name it as repo:PATH",
    "extends": "it is a file of another place; write the service out",
    "external": "it belongs to somebody else on that host",
    "external_links": "it belongs to somebody else on that host",
    "extra_hosts": "`host-gateway` and addresses outside lead out of the sandbox",
    "include": "it is a file of another place; write it out",
    "ipc": "it is a namespace of the host or of another sandbox",
    "network_mode": "it is a namespace of the host or of another sandbox",
    "pid": "it is a namespace of the host or of another sandbox",
    "privileged": "it is root on the host",
    "secrets": "they are files of another place",
    "security_opt": "it weakens the wall of the sandbox",
    "sysctls": "they are settings of the host's kernel",
    "userns_mode": "it is a namespace of the host",
    "uts": "it is a namespace of the host",
    "volumes_from": "it belongs to somebody else on that host",
}
"""Reasons beside the rule that what is on no list is rejected."""


def check_upload(text: str | None, *, ref: str | None) -> None:
    """Raise `Invalid` for a file that came with a create beside a reference to one, for what is no
    text of its size, and for what `read_stack` rejects: then nothing is made of it."""
    if text is None:
        return
    if ref is not None:
        raise Invalid("give a compose file or a reference to one, not both", field=UPLOAD_FIELD)
    size = len(text.encode("utf-8", "surrogatepass"))
    if not text.strip() or "\0" in text or size > MAX_BYTES:
        raise Invalid(
            f"a compose file is 1 to {MAX_BYTES} bytes of text without NUL", field=UPLOAD_FIELD
        )
    try:
        read_stack(text)
    except Invalid as err:
        raise Invalid(
            f"the compose file cannot be used: {err.message}", field=UPLOAD_FIELD
        ) from err


def read_stack(text: str) -> Stack:
    """Return the stack of a compose file. Raises `Invalid` with line and field."""
    root = Fields(read_tree(text, aliases=True))
    for name in ("version", "name"):
        root.take(name)
    notes: list[str] = []
    volumes = _resource_names(root.take("volumes"), {"driver": ("local",)})
    networks = _resource_names(root.take("networks"), {"driver": ("bridge",), "internal": (True,)})
    nodes = _entries(root.need("services"), MAX_SERVICES)
    services = _services(nodes, root, notes)
    if AGENT not in nodes:
        joined = tuple((name, ()) for name in networks) or ((DEFAULT_NETWORK, ()),)
        services.append(Service(AGENT, networks=joined))
    used = {network for each in services for network, _ in each.networks}
    stack = Stack(
        tuple(services),
        tuple(dict.fromkeys([*networks, *sorted(used & {DEFAULT_NETWORK})])),
        volumes,
        tuple(notes),
    )
    refusals = Refusals()
    for service in services:
        if service.name in nodes:
            with refusals.collected():
                _check_names(service, stack, nodes[service.name])
    refusals.check()
    return stack


def _services(nodes: dict[str, Node], root: Fields, notes: list[str]) -> list[Service]:
    """Return the services, without those that a profile of compose must turn on. Raises `Invalid`
    with all that is wrong."""
    refusals, services = Refusals(), []
    for name, node in nodes.items():
        fields = Fields(node)
        if fields.take("profiles") is not None and name != AGENT:
            notes.append(f"{node.path} is left out: it is in a profile of compose, and none is on")
            continue
        with refusals.collected():
            services.append(_service(name, node, fields, notes))
    with refusals.collected():
        _check_rest(root)
    refusals.check()
    return services


def _check_rest(fields: Fields) -> None:
    """Reject all that was not taken; `x-…` is nobody's, and left out."""
    refusals = Refusals()
    for name, node in fields.left():
        if name.startswith("x-"):
            continue
        why = WHY.get(name, "it is not on the list of what a sandbox may have")
        with refusals.collected():
            raise node.wrong(f"is not allowed: {why}")
    refusals.check()


def _check_names(service: Service, stack: Stack, node: Node) -> None:
    known = {
        "network": (stack.networks, [name for name, _ in service.networks]),
        "volume": (stack.volumes, [mount.volume for mount in service.mounts if mount.volume]),
        "service": (
            [each.name for each in stack.services if each.name != service.name],
            [name for name, _ in service.depends_on],
        ),
    }
    for kind, (there, named) in known.items():
        for name in named:
            if name not in there:
                raise node.wrong(f"names the {kind} {name!r}, which is not in the file")


def _leave_out(fields: Fields, notes: list[str]) -> None:
    for name, node in fields.left():
        if name in NOTES:
            fields.take(name)
            if name not in SILENT:
                notes.append(note(node.path, name))


def _service(name: str, node: Node, fields: Fields, notes: list[str]) -> Service:
    agent = name == AGENT
    image = _optional(fields, "image", _matching(_IMAGE, "an image"))
    if image is None and not agent:
        raise node.wrong("needs an image: nothing is built from files of a repository")
    memory, cpu = _limits(fields)
    _leave_out(fields, notes)
    found = Service(
        name=name,
        image=image or "",
        environment=_environment(fields.take("environment")),
        depends_on=_depends(fields.take("depends_on")),
        networks=_networks(fields.take("networks")),
        mounts=tuple(_mounts(fields)),
        memory_mb=memory,
        cpu=cpu,
    )
    places = [mount.target for mount in found.mounts]
    if len(set(places)) < len(places):
        raise node.wrong("mounts two things at one place")
    if not agent:
        found = _program(fields, found)
    _check_rest(fields)
    return found


def _limits(fields: Fields) -> tuple[int | None, float | None]:
    """Return memory (MB) and processors of a service, by its own keys or `deploy`'s."""
    memory, cpu = _optional(fields, "mem_limit", _memory), _optional(fields, "cpus", _cpu)
    deploy = dict(fields.left()).get("deploy")
    for name in ("resources", "limits"):
        inner = deploy.value if deploy is not None else None
        deploy = inner.get(name) if isinstance(inner, dict) else None
    if deploy is None or deploy.value is None:
        return memory, cpu
    limits = Fields(deploy)
    further = _optional(limits, "memory", _memory), _optional(limits, "cpus", _cpu)
    return memory or further[0], cpu or further[1]


def _program(fields: Fields, known: Service) -> Service:
    """Return a service with what it runs; the agent's runs Atoll's own."""
    return Service(
        known.name,
        known.image,
        _optional(fields, "command", _read_command),
        _optional(fields, "entrypoint", _read_command),
        *(known.environment, known.depends_on, known.networks, known.mounts),
        health=_optional(fields, "healthcheck", _health),
        working_dir=_optional(fields, "working_dir", _place),
        user=_optional(fields, "user", _matching(_USER, "a user or user:group")),
        init=fields.switch("init", False),
        read_only=fields.switch("read_only", False),
        restarts=_restarts(fields.take("restart")),
        stop_seconds=_optional(fields, "stop_grace_period", _seconds(60)),
        memory_mb=known.memory_mb,
        cpu=known.cpu,
    )


def _read_text(node: Node) -> str:
    """Return text, in which `$` stands for itself only when it is doubled. No variable is set, so
    one with a default is its default."""
    value = _DEFAULT.sub(lambda found: found[1] or found[2] or "", yaml_fields.read_text(node))
    if "$" in value.replace("$$", ""):
        raise node.wrong(
            "takes `$…` from the environment of whoever reads it, which is not there: write the "
            "value out or give a default (`${NAME:-VALUE}`), and a dollar sign as `$$`"
        )
    return value.replace("$$", "$")


def _scalar(node: Node) -> str:
    """Return text, or a number or switch as text."""
    if isinstance(node.value, bool):
        return "true" if node.value else "false"
    if isinstance(node.value, int | float):
        return str(node.value)
    return _read_text(node)


def _matching(pattern: re.Pattern[str], wanted: str) -> Callable[[Node], str]:
    def read(node: Node) -> str:
        value = _scalar(node)
        if not pattern.fullmatch(value):
            raise node.wrong(f"must be {wanted}")
        return value

    return read


def _optional(fields: Fields, name: str, read: Callable[[Node], _T]) -> _T | None:
    node = fields.take(name)
    return None if node is None else read(node)


def _read_list(node: Node) -> list[Node]:
    if not isinstance(node.value, list) or len(node.value) > MAX_WORDS:
        raise node.wrong(f"must be a list of at most {MAX_WORDS}")
    return node.value


def _entries(node: Node, most: int) -> dict[str, Node]:
    if not isinstance(node.value, dict) or not 0 < len(node.value) <= most:
        raise node.wrong(f"must be a mapping of 1 to {most} names")
    for name, inner in node.value.items():
        if not _NAME.fullmatch(name):
            raise inner.wrong(
                "has a name that is not made of a-z, 0-9 and inner `-` or `_`, at most 40"
            )
    return node.value


def _resource_names(node: Node | None, allowed: dict[str, tuple[object, ...]]) -> tuple[str, ...]:
    """Return the names of networks or volumes, which may say no more than `allowed`."""
    if node is None:
        return ()
    entries = _entries(node, MAX_NAMED)
    for inner in entries.values():
        if inner.value is None:
            continue
        fields = Fields(inner)
        for key, values in allowed.items():
            given = fields.take(key)
            if given is not None and given.value not in values:
                raise given.wrong(f"is not allowed: it can only be {values[0]}")
        _check_rest(fields)
    return tuple(entries)


def _read_command(node: Node) -> tuple[str, ...]:
    """Return a command; one that is written as text is split as a shell does."""
    if isinstance(node.value, list):
        return tuple(_scalar(each) for each in _read_list(node))
    try:
        return tuple(shlex.split(_read_text(node)))
    except ValueError as err:
        raise node.wrong("has a quotation mark without its other one") from err


def _environment(node: Node | None) -> tuple[tuple[str, str], ...]:
    if node is None:
        return ()
    if isinstance(node.value, dict):
        found = [(name, _read_value(inner), inner) for name, inner in node.value.items()]
    else:
        found = [_pair(each) for each in _read_list(node)]
    if len(found) > MAX_WORDS:
        raise node.wrong(f"must be at most {MAX_WORDS} variables")
    for name, _, inner in found:
        if not _VARIABLE.fullmatch(name):
            raise inner.wrong("has a variable whose name no program could read")
    return tuple({name: value for name, value, _ in found}.items())


def _pair(node: Node) -> tuple[str, str, Node]:
    name, equals, value = _read_text(node).partition("=")
    if not equals:
        raise _not_ours(node)
    return name, value, node


def _read_value(node: Node) -> str:
    """Return a variable's value. Raises `Invalid` for a variable without one."""
    if node.value is None:
        raise _not_ours(node)
    return _scalar(node)


def _not_ours(node: Node) -> Invalid:
    return node.wrong("takes a variable from the environment of whoever reads it: write its value")


def _depends(node: Node | None) -> tuple[tuple[str, str], ...]:
    if node is None:
        return ()
    if isinstance(node.value, list):
        return tuple((_scalar(each), _CONDITIONS[0]) for each in _read_list(node))
    found = []
    for name, inner in _entries(node, MAX_SERVICES).items():
        fields = Fields(inner)
        condition = fields.need("condition")
        for name_left_out in ("restart", "required"):
            fields.take(name_left_out)
        if condition.value not in _CONDITIONS:
            raise condition.wrong(f"must be one of {', '.join(_CONDITIONS)}")
        _check_rest(fields)
        found.append((name, str(condition.value)))
    return tuple(found)


def _networks(node: Node | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if node is None:
        return ((DEFAULT_NETWORK, ()),)
    if isinstance(node.value, list):
        return tuple((_scalar(each), ()) for each in _read_list(node))
    found = []
    for name, inner in _entries(node, MAX_NAMED).items():
        aliases: tuple[str, ...] = ()
        if inner.value is not None:
            fields = Fields(inner)
            aliases = fields.items("aliases", _matching(_NAME, "a name of a-z, 0-9 and inner `-`"))
            _check_rest(fields)
        found.append((name, aliases))
    return tuple(found)


def _mounts(fields: Fields) -> Iterator[StackMount]:
    volumes, memory = fields.take("volumes"), fields.take("tmpfs")
    for node in [] if volumes is None else _read_list(volumes):
        yield _long_mount(node) if isinstance(node.value, dict) else _short_mount(node)
    if memory is not None:
        for node in [memory] if isinstance(memory.value, str) else _read_list(memory):
            yield StackMount(_place(node))


def _short_mount(node: Node) -> StackMount:
    source, _, rest = _read_text(node).partition(":")
    target, _, mode = rest.partition(":")
    if not _NAME.fullmatch(source) or not target:
        raise node.wrong(
            "is not allowed: folders of the host and volumes without a name cannot be mounted. "
            "Name a volume of this file"
        )
    if mode not in ("", "rw", "ro"):
        raise node.wrong("must end with `ro`, `rw` or its place")
    return StackMount(_checked_place(target, node), source, mode == "ro")


def _long_mount(node: Node) -> StackMount:
    fields = Fields(node)
    kind = fields.need("type")
    if kind.value not in ("volume", "tmpfs"):
        raise kind.wrong("is not allowed: only `volume` and `tmpfs` are, nothing of the host")
    volume = ""
    if kind.value == "volume":
        volume = _matching(_NAME, "the name of a volume of this file")(fields.need("source"))
    mount = StackMount(_place(fields.need("target")), volume, fields.switch("read_only", False))
    _check_rest(fields)
    return mount


def _place(node: Node) -> str:
    return _checked_place(_read_text(node), node)


def _checked_place(place: str, node: Node) -> str:
    plain = PurePosixPath(place)
    found = "/" + str(plain).lstrip("/")
    odd = not place.isprintable() or set(place) & set(",:\"'\\")
    if not plain.is_absolute() or ".." in plain.parts or found == "/" or odd:
        raise node.wrong("must be the absolute path of a folder below /")
    if below_any(found, _RESERVED):
        raise node.wrong("is a place of the sandbox's own")
    return found


def _health(node: Node) -> HealthCheck:
    fields = Fields(node)
    off = fields.switch("disable", False)
    test = fields.take("test")
    words = () if off or test is None else _test(test)
    fields.take("start_interval")
    found = HealthCheck(
        words if words[:1] != ("NONE",) else (),
        interval=_optional(fields, "interval", _seconds(3600)),
        timeout=_optional(fields, "timeout", _seconds(3600)),
        start_period=_optional(fields, "start_period", _seconds(3600)),
        retries=fields.whole("retries", least=1, most=1000),
    )
    _check_rest(fields)
    return found


def _test(node: Node) -> tuple[str, ...]:
    if isinstance(node.value, str):
        return ("CMD-SHELL", _read_text(node))
    words = tuple(_scalar(each) for each in _read_list(node))
    if not words or words[0] not in _TESTS:
        raise node.wrong(f"must begin with one of {', '.join(_TESTS)}")
    return words


def _seconds(most: int) -> Callable[[Node], int]:
    def read(node: Node) -> int:
        found = yaml_fields.seconds(node)
        if not 0 < found <= most:
            raise node.wrong(f"must be 1 to {most} seconds")
        return found

    return read


def _restarts(node: Node | None) -> bool:
    """Return whether a failed service is started again. Nothing is after the host's own restart."""
    if node is None or node.value is False or node.value == "no":
        return False
    if node.value not in ("always", "on-failure", "unless-stopped"):
        raise node.wrong("must be one of no, always, on-failure, unless-stopped")
    return True


def _memory(node: Node) -> int:
    found = _SIZE.fullmatch(_scalar(node))
    size = int(found[1]) * _UNITS[found[2].lower()] >> 20 if found else 0
    return read_whole_number(
        Node(size, node.path, node.line, node.column), least=16, most=MAX_MEMORY_MB
    )


def _cpu(node: Node) -> float:
    written = _scalar(node)
    value = float(written) if _CPU.fullmatch(written) else None
    return read_number(Node(value, node.path, node.line, node.column), least=0.01, most=1024)
