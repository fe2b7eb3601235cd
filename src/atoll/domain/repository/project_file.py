"""Reading of `.atoll.yaml`, strictly: an unknown field or an odd value rejects the whole file.

A file can only add what a person may approve, or name an agent. It cannot name a
network mode, a mount, a secret, or a path outside the checkout: there is no field for that. A host
is a full name on the internet, never an address or a name of the person's own network.
"""

import re
from collections.abc import Callable
from typing import Final, TypeVar
from unicodedata import combining

from atoll.domain.approvals.approval import spelled_out
from atoll.domain.errors import Invalid
from atoll.domain.files.workspace_path import named_path
from atoll.domain.network.egress_rule import PRESETS, read_pattern
from atoll.domain.profile.schema import profile_id
from atoll.domain.profile.yaml_fields import Fields, read_whole_number
from atoll.domain.profile.yaml_fields import read_text as read_text
from atoll.domain.profile.yaml_tree import Node, read_tree
from atoll.domain.repository.project import ProjectFile
from atoll.domain.unseen import is_unseen
from atoll.domain.wall.environment import read_env
from atoll.domain.wall.interior import DOORS

T = TypeVar("T")

PROJECT_FILE: Final = ".atoll.yaml"
MAX_FILE_BYTES: Final = 65536
MAX_COMMANDS: Final = 50
MAX_COMMAND: Final = 2000
MAX_SERVERS: Final = 10
MAX_COPIES: Final = 20
MAX_HOSTS: Final = 20
MAX_PORTS: Final = 20
MAX_VARIABLES: Final = 50

HOST_PATTERN: Final = r"^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)+$"
_HOST = re.compile(HOST_PATTERN.removesuffix("$") + r"\Z")
_OWN_NETWORK = frozenset({
    "alt", "arpa", "corp", "example", "home", "internal", "intranet", "invalid", "lan", "local",
    "localdomain", "localhost", "onion", "private", "test",
})  # fmt: skip
"""Top-level names that are no public host's (RFC 6761, 6762, 7686, 8375; ICANN's `.internal`)."""
MAX_MARKS: Final = 3
MAX_SPACES: Final = 8
"""The most spaces in a row. More would move the rest of a command out of sight."""

_AGENT = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
SERVER_PATTERN: Final = r"^(?!setup$)[a-z0-9][a-z0-9-]{0,39}$"
"""The names of servers' terminals; that of the set-up has its own."""
_KEPT_NAMES = re.compile(
    r"(?:ATOLL|LD|DYLD|GIT|SSH|GCONV|MALLOC|BASH_FUNC)_.*"
    r"|(?:CODEX|CLAUDE|OPENCODE|QWEN|GEMINI|AIDER|CURSOR|ANTHROPIC|OPENAI)_.*"
    r"|NPM_CONFIG_(?:REGISTRY|SCRIPT_SHELL|NODE_OPTIONS|USERCONFIG)|SHELLOPTS|BASHOPTS|PS[0-3]"
    r"|.*(?:_PROXY|_BASE_URL|_API_KEY|_TOKEN|_SECRET|_PASSWORD|_CERT_FILE|_CERT_DIR|_CA_BUNDLE)"
    r"|PATH|HOME|SHELL|ENV|BASH_ENV|IFS|PS4|PROMPT_COMMAND|USER|LOGNAME|TMPDIR|XDG_.*"
    r"|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|PYTHONPATH|PYTHONSTARTUP|PYTHONHOME|PERL5OPT|PERL5LIB"
    r"|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|EDITOR|VISUAL|PAGER|BROWSER|TERM.*",
    re.IGNORECASE,
)
"""Variables that belong to Atoll, that load code into other programs, that redirect an agent or its
connections, or that hold secrets."""


def read_project(document: bytes) -> ProjectFile:
    """Return the content of `.atoll.yaml`. Raises `Invalid` with line and field, in printable
    words."""
    try:
        return _read(decode_document(document, PROJECT_FILE))
    except Invalid as err:
        message = f"{PROJECT_FILE} cannot be used: {spelled_out(err.message, 500)}"
        raise Invalid(message, field=spelled_out(err.field or PROJECT_FILE, 100)) from err


def decode_document(document: bytes, source: str) -> str:
    """Return the text of a small UTF-8 file. Raises `Invalid`."""
    if len(document) > MAX_FILE_BYTES:
        raise Invalid(f"{source} is larger than {MAX_FILE_BYTES} bytes.")
    try:
        return document.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as err:
        raise Invalid(f"{source} is not UTF-8 text.") from err


def _read(text: str) -> ProjectFile:
    fields = Fields(read_tree(text))
    content = ProjectFile(
        PROJECT_FILE,
        setup=_read_list(fields.take("setup"), MAX_COMMANDS, read_command),
        servers=_read_servers(fields.take("servers")),
        copies=_read_list(fields.take("copy"), MAX_COPIES, _read_copy_path),
        network=_read_list(fields.take("network"), len(PRESETS) + MAX_HOSTS, _read_network_entry),
        ports=_read_list(fields.take("ports"), MAX_PORTS, read_port_node),
        env=_env(fields.take("env")),
        agent=_agent(fields.take("agent")),
        profile=_profile(fields.take("profile")),
    )
    fields.done()
    return content


def _read_list(node: Node | None, most: int, read: Callable[[Node], T]) -> tuple[T, ...]:
    """Return the distinct items of a list of at most `most`. Raises `Invalid`."""
    if node is None:
        return ()
    if not isinstance(node.value, list) or len(node.value) > most:
        raise node.wrong(f"must be a list of at most {most}")
    return tuple(dict.fromkeys(map(read, node.value)))


def read_command(node: Node) -> str:
    """Return one shell command: a single line, every character of which can be seen. Raises
    `Invalid`."""
    command = _read_visible_line(node)
    if not command.strip() or len(command) > MAX_COMMAND:
        raise node.wrong(f"must be a command of 1 to {MAX_COMMAND} characters on one line")
    return command


def _read_visible_line(node: Node) -> str:
    """Return one line of visible text. Raises `Invalid`."""
    value = read_text(node)
    if any(is_unseen(char) for char in value):
        raise node.wrong("must be one line without invisible characters")
    if " " * (MAX_SPACES + 1) in value:
        raise node.wrong(f"must not hold more than {MAX_SPACES} spaces in a row")
    if _piles_marks(value):
        raise node.wrong(f"must not hold more than {MAX_MARKS} marks on one letter")
    return value


def _piles_marks(text: str) -> bool:
    """Report whether so many marks sit on one letter that they cover the lines around it."""
    marks = 0
    for char in text:
        marks = marks + 1 if not char.isascii() and combining(char) else 0
        if marks > MAX_MARKS:
            return True
    return False


def _read_servers(node: Node | None) -> tuple[tuple[str, str], ...]:
    if node is None:
        return ()
    if not isinstance(node.value, dict) or len(node.value) > MAX_SERVERS:
        raise node.wrong(f"must be a mapping of at most {MAX_SERVERS} names to commands")
    for name, command in node.value.items():
        if not re.fullmatch(SERVER_PATTERN.removesuffix("$"), name):
            raise command.wrong(
                "must have a name of small letters, digits and hyphens, such as web; setup is the "
                "set-up's"
            )
    return tuple((name, read_command(command)) for name, command in sorted(node.value.items()))


def _read_copy_path(node: Node) -> str:
    """Return a path below the checkout and outside `.git`. Raises `Invalid`."""
    path = _read_visible_line(node)
    if path.startswith(("/", "~")) or "\\" in path:
        raise node.wrong("must be a path below the checkout, with / between the names")
    try:
        inner = named_path(path)
    except Invalid as err:
        raise node.wrong(f"must be a path below the checkout: {err.message}") from err
    if any(part.casefold() == ".git" for part in inner.split("/")) or len(inner) > 1000:
        raise node.wrong("must be a path below the checkout and outside .git")
    return inner


def _read_network_entry(node: Node) -> str:
    """Return the name of a preset, or a host. Raises `Invalid`."""
    value = node.value if isinstance(node.value, str) else ""
    name = value.removeprefix("preset:")
    if name in PRESETS:
        return name
    if not _HOST.match(value):
        known = ", ".join(sorted(PRESETS))
        raise node.wrong(
            f"must be one of the presets {known}, or the full name of a host in small letters, "
            "such as api.example.com or *.example.com; only a person opens more"
        )
    if value.rpartition(".")[2] in _OWN_NETWORK:
        raise node.wrong("must be a host of the internet; only a person opens their own network")
    try:
        return read_pattern(value)
    except Invalid as err:
        raise node.wrong(f"must be a host: {err.message}") from err


def read_port_node(node: Node) -> int:
    """Return a port of the sandbox that may be forwarded. Raises `Invalid`."""
    port = read_whole_number(node, least=1, most=65535)
    if port in DOORS:
        raise node.wrong("is a door of the sandbox and is never forwarded")
    return port


def _env(node: Node | None) -> tuple[tuple[str, str], ...]:
    if node is None:
        return ()
    if not isinstance(node.value, dict) or len(node.value) > MAX_VARIABLES:
        raise node.wrong(f"must be a mapping of at most {MAX_VARIABLES} names to text")
    return tuple(sorted(read_variable(name, value) for name, value in node.value.items()))


def read_variable(name: str, node: Node) -> tuple[str, str]:
    """Return a variable that a project file may set. Raises `Invalid` for one that belongs to
    Atoll, loads code, redirects connections or holds a secret, and for a value with invisible
    characters."""
    value = _read_visible_line(node)
    if len(value) > MAX_COMMAND:
        raise node.wrong(f"must be text of at most {MAX_COMMAND} characters")
    try:
        read_env([(name, value)])
    except Invalid as err:
        raise node.wrong(f"is wrong: {err.message}") from err
    if _KEPT_NAMES.fullmatch(name):
        raise node.wrong("cannot be set by a repository: set it yourself with --env")
    return name, value


def _agent(node: Node | None) -> str | None:
    if node is None:
        return None
    value = _read_visible_line(node)
    if not _AGENT.fullmatch(value):
        raise node.wrong("must name an agent, such as codex")
    return value


def _profile(node: Node | None) -> str | None:
    if node is None:
        return None
    try:
        return profile_id(_read_visible_line(node))
    except Invalid as err:
        raise node.wrong("must name a profile, such as profile.web") from err
