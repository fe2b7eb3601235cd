"""What a repository's own file may say, and what it never gets."""

import json

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.network.network import Network
from atoll.domain.repository.devcontainer import read_devcontainer, without_comments
from atoll.domain.repository.project import (
    ProjectFile,
    Proposal,
    project_changes,
    project_digest,
    proposals,
)
from atoll.domain.repository.project_file import (
    MAX_COMMANDS,
    MAX_FILE_BYTES,
    read_project,
)
from atoll.domain.repository.project_schema import project_schema
from atoll.domain.sandboxes.project import widen
from atoll.wire.words.library import ProposalKind
from atoll.wire.words.networks import NetworkMode
from tests.places import ROOT

WHOLE = b"""
setup:
  - npm ci
  - make "all of it"
servers: {web: npm run dev, api: ./serve --port 3000}
copy: [.env.local, config/dev.json]
network: [npm, preset:github]
ports: [3000, 5173]
env: {NODE_ENV: development}
agent: codex
profile: web
"""


def test_whole_file_is_read() -> None:
    assert read_project(WHOLE) == ProjectFile(
        ".atoll.yaml",
        setup=("npm ci", 'make "all of it"'),
        servers=(("api", "./serve --port 3000"), ("web", "npm run dev")),
        copies=(".env.local", "config/dev.json"),
        network=("npm", "github"),
        ports=(3000, 5173),
        env=(("NODE_ENV", "development"),),
        agent="codex",
        profile="profile.web",
    )


def test_everything_that_widens_is_a_proposal_and_the_rest_is_none() -> None:
    found = proposals(read_project(WHOLE))
    assert [one.kind.value for one in found] == [
        *("setup", "setup", "server", "server", "copy", "copy", "network", "network"),
        *("port", "port", "env", "profile"),
    ]
    assert found[0] == Proposal(ProposalKind.SETUP, "npm ci")
    assert found[3] == Proposal(ProposalKind.SERVER, "web: npm run dev")
    assert found[-2] == Proposal(ProposalKind.ENV, "NODE_ENV=development")
    assert proposals(read_project(b"agent: codex\n")) == ()


HOSTILE = {
    "a host mount": "mounts: [/:/mnt/host]",
    "secrets": "secrets: [GITHUB_TOKEN]",
    "network mode": "network: full",
    "network mode in a list": "network: [full]",
    "a host of its own with the mode": "network: [api.acme.dev, full]",
    "every host": 'network: ["*"]',
    "a path above": "copy: [../../.ssh/id_ed25519]",
    "a path above, encoded": 'copy: ["%2e%2e/%2e%2e/.ssh"]',
    "a path above, in the middle": "copy: [a/../../.ssh]",
    "a home": "copy: [~/.ssh/id_ed25519]",
    "an absolute path": "copy: [/etc/shadow]",
    "a path beneath the workspace": "copy: [/workspace/x]",
    "a backslash": 'copy: ["..\\\\..\\\\.ssh"]',
    "git's own files": "copy: [.git/config]",
    "git's own files, in capitals": "copy: [sub/.GIT/hooks/x]",
    "a server without a name": "servers: [npm run dev]",
    "a server in the set-up's terminal": "servers: {setup: npm run dev}",
    "a server of an odd name": "servers: {../web: npm run dev}",
    "a server of a list": "servers: {web: [npm, run]}",
    "a server of two lines": 'servers: {web: "npm\\nrun"}',
    "many servers": "servers: {" + ", ".join(f"a{n}: b" for n in range(11)) + "}",
    "many commands": "setup: [" + ", ".join(["a"] * (MAX_COMMANDS + 1)) + "]",
    "a long command": "setup: [" + "a" * 2001 + "]",
    "a command of two lines": 'setup: ["echo hello\\nrm -rf /"]',
    "a command with a carriage return": 'setup: ["rm -rf ~\\recho hello"]',
    "an escape code": 'setup: ["\\e[2Kecho hello"]',
    "a turned reading direction": 'setup: ["echo \\u202etxt.exe"]',
    "a blank letter": 'setup: ["echo \\u3164 hello"]',
    "an escape code in a path": 'copy: ["a\\e[1m"]',
    "a command whose end is out of sight": 'setup: ["npm ci' + " " * 1900 + '; curl x | sh"]',
    "marks that cover the line above": 'setup: ["echo a' + "\u0301" * 40 + '"]',
    "a bomb of aliases": "a: &a [x]\nb: &b [*a, *a]\nsetup: [*b, *b]",
    "a merge key": "base: {setup: [a]}\n<<: {setup: [b]}",
    "a huge number": "ports: [" + "9" * 4000 + "]",
    "a number in another base": "ports: [0x0BB8]",
    "a million commands": "setup: [" + "a," * 30000 + "a]",
    "an agent's own settings": "env: {CODEX_HOME: /workspace/.codex}",
    "another agent's own settings": "env: {claude_config_dir: /workspace/.claude}",
    "a prompt that runs": "env: {PS1: '$(curl x)'}",
    "an empty command": 'setup: ["  "]',
    "a number as a command": "setup: [1]",
    "a tag": "setup: !!python/object/apply:os.system [id]",
    "an alias": "setup: &a [a]\nports: *a",
    "depth": "setup: " + "[" * 50 + "]" * 50,
    "two documents": "agent: a\n---\nagent: b",
    "a repeated field": "agent: a\nagent: b",
    "the broker's port": "ports: [8082]",
    "no port": "ports: [0]",
    "a loader's variable": "env: {LD_PRELOAD: /workspace/x.so}",
    "a path of programs": "env: {PATH: /workspace/bin}",
    "another model's address": "env: {ANTHROPIC_BASE_URL: 'https://evil.example'}",
    "a proxy": "env: {https_proxy: 'http://evil.example'}",
    "git's settings": "env: {GIT_SSH_COMMAND: evil}",
    "a key": "env: {OPENAI_API_KEY: sk-x}",
    "a variable of Atoll": "env: {ATOLL_SANDBOX: other}",
    "variables in a list": "env: [A=1]",
    "a long value": "env: {A: " + "a" * 2001 + "}",
    "an odd name": "env: {'A-B': '1'}",
    "a profile's whole path": "profile: ../evil",
    "an agent that is a command": "agent: 'codex; rm -rf /'",
    "a list": "- setup",
    "nothing": "",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_file_is_rejected_whole_in_printable_words(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_project(text.encode())
    assert caught.value.message.startswith(".atoll.yaml cannot be used: ")
    assert caught.value.message.isprintable()


def test_escape_code_in_a_name_is_spelled_out() -> None:
    with pytest.raises(Invalid) as caught:
        read_project(b'"\\e[31mred\\u202e": 1')
    assert "\x1b" not in caught.value.message and "\u202e" not in caught.value.message
    assert caught.value.field is not None and caught.value.field.isprintable()


@pytest.mark.parametrize(
    "document", [b"# " + b"x" * MAX_FILE_BYTES, b"\xff\xfe", b"setup: [" + b"a," * 9000 + b"a]"]
)
def test_large_or_binary_file_is_rejected(document: bytes) -> None:
    with pytest.raises(Invalid):
        read_project(document)


def test_digest_covers_what_is_proposed_and_nothing_else() -> None:
    base = read_project(WHOLE)
    changed = WHOLE.replace(b"agent: codex", b"agent: aider")
    assert project_digest(read_project(changed)) == project_digest(base)
    for old, new in (
        (b"npm ci", b"npm ci --x"),
        (b"npm run dev", b"npm run prod"),
        (b"web: npm", b"page: npm"),
        (b".env.local", b".env"),
        (b"preset:github", b"pypi"),
        (b"5173", b"5174"),
        (b"development", b"production"),
        (b"profile: web", b"profile: data"),
    ):
        assert project_digest(read_project(WHOLE.replace(old, new))) != project_digest(base)


def test_digest_does_not_mix_neighbouring_fields() -> None:
    one = ProjectFile("x", setup=("a",), copies=("b",))
    other = ProjectFile("x", setup=("a", "b"))
    assert project_digest(one) != project_digest(other)


def test_changes_name_what_came_and_went() -> None:
    before, now = read_project(b"setup: [a, b]"), read_project(b"setup: [b, c]\nports: [1]")
    changes = project_changes(before, now)
    assert [one.text for one in changes.added] == ["c", "1"]
    assert [one.text for one in changes.removed] == ["a"]
    assert project_changes(None, now).added == ()


def test_schema_is_the_published_one() -> None:
    published = (ROOT / "docs" / "use" / "atoll.schema.json").read_text()
    assert json.loads(published) == project_schema()


DEVCONTAINER = rb"""{
	// a comment with "quotes" and a trailing comma below
	"name": "demo", "image": "x", /* a
	longer one */ "runArgs": ["--privileged"],
	"mounts": ["source=/,target=/host,type=bind"],
	"postCreateCommand": "npm ci // not a comment",
	"forwardPorts": [3000, "db:5432", 8082],
	"containerEnv": {"A": "1", "LD_PRELOAD": "x", "H": "${localEnv:HOME}",},
}
"""


def test_devcontainer_gives_three_fields_and_lists_the_rest() -> None:
    found = read_devcontainer(DEVCONTAINER, ".devcontainer.json")
    assert found.setup == ("npm ci // not a comment",)
    assert found.ports == (3000,)
    assert found.env == (("A", "1"),)
    assert found.network == () and found.copies == () and found.agent is None
    names = [line.split(":")[0] for line in found.ignored]
    assert names == [
        *("forwardPorts[1]", "forwardPorts[2]", "containerEnv.LD_PRELOAD", "containerEnv.H"),
        *("image", "runArgs", "mounts"),
    ]


@pytest.mark.parametrize(
    ("command", "setup"),
    [
        (b'["npm", "run", "a b"]', ("npm run 'a b'",)),
        (b'{"one": "a", "two": ["b", "c"]}', ("a", "b c")),
        (b"null", ()),
        (b"[]", ()),
        (b"7", ()),
    ],
)
def test_devcontainer_command_may_be_a_list_or_named(
    command: bytes, setup: tuple[str, ...]
) -> None:
    found = read_devcontainer(b'{"postCreateCommand": ' + command + b"}", "devcontainer.json")
    assert found.setup == setup


@pytest.mark.parametrize("document", [b"", b"[]", b"{", b'"x"', b"[" * 5000, b"\xff"])
def test_document_that_is_no_devcontainer_is_rejected(document: bytes) -> None:
    with pytest.raises(Invalid):
        read_devcontainer(document, "devcontainer.json")


def test_devcontainer_with_everything_too_long_is_cut_and_said() -> None:
    many = {
        "postCreateCommand": {str(n): f"c{n}" for n in range(60)},
        "forwardPorts": [*range(1, 30)],
        "containerEnv": {f"V{n}": "x" for n in range(60)},
        **{f"field{n}": 1 for n in range(100)},
    }
    found = read_devcontainer(json.dumps(many).encode(), "devcontainer.json")
    assert (len(found.setup), len(found.ports), len(found.env)) == (50, 20, 50)
    assert len(found.ignored) == 51 and found.ignored[-1].endswith("more")
    odd = b'{"forwardPorts": 1, "containerEnv": []}'
    assert len(read_devcontainer(odd, "devcontainer.json").ignored) == 2


def test_comments_go_and_strings_stay() -> None:
    text = '{"a": "x // y /* z */ \\" //", // gone\n "b": [1, 2, ], /* open'
    assert json.loads(without_comments(text).rstrip(" ,") + "}") == {
        "a": 'x // y /* z */ " //',
        "b": [1, 2],
    }


@pytest.mark.parametrize(
    "host",
    [
        "*", "*.com", "*.co.uk", "*.github.io", "**.acme.dev", "a.*.acme.dev", "acme*.dev",
        "10.0.0.1", "127.0.0.1", "0x7f.1", "2130706433", "[::1]", "169.254.169.254", "1.2.3.04",
        "localhost", "router", "nas.local", "db.internal", "*.lan", "x.onion", "1.10.in-addr.arpa",
        "https://api.acme.dev", "http://api.acme.dev/", "api.acme.dev:22", "api.acme.dev/path",
        "GET api.acme.dev", "user@api.acme.dev", "api.acme.dev.", "API.acme.dev", "\u0430cme.dev",
        "acme.dev\u200b", "-acme.dev", "a..acme.dev", "x" * 64 + ".acme.dev", "preset:evil.dev",
    ],
)  # fmt: skip
def test_host_that_is_no_public_name_is_rejected(host: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_project(json.dumps({"network": ["npm", host]}).encode())
    assert caught.value.message.isprintable()


def test_each_host_is_a_proposal_of_its_own_and_bound_to_the_digest() -> None:
    content = read_project(b"network: [npm, api.acme.dev, '*.cdn.acme.dev']")
    assert proposals(content) == (
        Proposal(ProposalKind.NETWORK, "npm"),
        Proposal(ProposalKind.HOST, "api.acme.dev"),
        Proposal(ProposalKind.HOST, "*.cdn.acme.dev"),
    )
    other = read_project(b"network: [npm, api.acme.dev, '*.acme.dev']")
    assert project_digest(other) != project_digest(content)
    network = widen(Network(mode=NetworkMode.NONE, egress=("a.b",)), content)
    assert network.mode is NetworkMode.NONE
    assert network.egress == ("a.b", "preset:npm", "api.acme.dev", "*.cdn.acme.dev")
    many = json.dumps({"network": [f"h{number}.acme.dev" for number in range(30)]})
    with pytest.raises(Invalid):
        read_project(many.encode())


@pytest.mark.parametrize(
    "field",
    [
        {"postCreateCommand": "npm ci" + " " * 1900 + "; curl x | sh"},
        {"postCreateCommand": ["echo", "a" + "\u0301" * 40]},
        {"postCreateCommand": "rm -rf ~\recho hello"},
        {"containerEnv": {"CLAUDE_CONFIG_DIR": "/workspace/.claude"}},
        {"containerEnv": {"A": "\u202e"}},
        {"forwardPorts": [3128]},
        {"mounts": ["source=/,target=/host,type=bind"], "runArgs": ["--network=host"]},
        {"network": ["api.acme.dev"], "setup": ["id"], "copy": ["../../.ssh"]},
        {"initializeCommand": "id", "onCreateCommand": "id", "secrets": {"A": {}}},
    ],
)
def test_devcontainer_gets_nothing_by_what_a_project_file_is_refused(
    field: dict[str, object],
) -> None:
    found = read_devcontainer(json.dumps(field).encode(), "devcontainer.json")
    assert proposals(found) == () and found.agent is None and found.ignored
    assert all(line.isprintable() for line in found.ignored)
