"""A secret that got inside all the same: every way out of a real sandbox is tried with it."""

import asyncio
import base64
import io
import json
import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from atoll.testing.server import test_server
from tests.peers.api import Api
from tests.peers.terminal_client import TerminalClient
from tests.redaction import oracle

CANARY = "sk-canary-Zq81xLw03Mvb77TtNeRr"
OWNER_ONLY = "K='" + base64.b64encode(CANARY[::-1].encode()).decode()[::-1] + "'; "
"""The key, spelled as no redactor looks for it, so that it can be carried inside."""

UNSPELL = 'KEY=$(printf %s "$K" | rev | base64 -d | rev); '
SAY = OWNER_ONLY + UNSPELL


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with test_server(keys=f'[openai]\nkey = "{CANARY}"\n') as server:
        api = Api(server)
        yield api
        api.client.close()


@pytest.fixture(scope="module")
def box(api: Api) -> str:
    name: str = api.create(name="leaky")["sandbox_id"]
    return name


def test_canary_can_be_carried_inside(api: Api, box: str) -> None:
    assert api.run(box, SAY + 'printf %s "${#KEY}"') == str(len(CANARY))


@pytest.mark.parametrize(
    "line",
    [
        'echo "$KEY"',
        'echo "$KEY" >&2',
        'printf %s "$KEY" | rev',
        'printf %s "$KEY" | base64',
        'printf %s "user:$KEY" | base64 -w 20',
        'printf %s "$KEY" | xxd -p || printf %s "$KEY" | od -An -tx1',
        'printf %s "$KEY" | od -An -v -tx1',
        'printf %s "$KEY" | fold -w 3',
        'printf %s "$KEY" | sed "s/./&\\n/g"',
        'printf %s "$KEY" | sed "s/./&\\x1b[0m/g"',
        # The two parts come in reads of their own.
        'printf %s "${KEY%${KEY#????????}}"; sleep 0.2; printf %s "${KEY#????????}"',
        'cd /tmp && git init -q r && cd r && echo "$KEY" > f && git add f && git diff --cached',
    ],
)
def test_command_that_prints_the_secret_shows_none_of_it(api: Api, box: str, line: str) -> None:
    said = api.run(box, SAY + line)
    for form in (CANARY, CANARY[::-1], CANARY[8:], CANARY.encode().hex()[16:]):
        assert form not in "".join(c for c in said if c.isalnum() or c in "-_")
    assert said.count("*") >= 20


HEAD = b"line\r\n\x1b[1;38;5;200m" * 8
ONE_WRITE = (
    r"HEAD=$(printf 'line\r\n\033[1;38;5;200m%.0s' 1 2 3 4 5 6 7 8); "
    r"""BODY=$(printf %s "$KEY" | SHOWN); printf '%s%s\n<end>\n' "$HEAD" "$BODY" """
)
"""The secret within a longer text, all of it written at once."""

SHOWN = ("sed 's/./\x1b[31m&/g'", "fold -w 7", "sed 's/./&\x1b]633;C\x07\x1b(B/g' | fold -w 30")


@pytest.mark.parametrize("shown", SHOWN)
def test_secret_within_coloured_lines_is_masked_in_an_exec(api: Api, box: str, shown: str) -> None:
    said = api.run(box, SAY + ONE_WRITE.replace("SHOWN", shown)).encode()
    masked_behind_the_head(said)


@pytest.mark.parametrize("shown", SHOWN)
async def test_secret_within_coloured_lines_is_masked_at_a_terminal(
    api: Api, box: str, shown: str
) -> None:
    line = "stty -onlcr; " + SAY + ONE_WRITE.replace("SHOWN", shown)
    terminal = api.terminal(box, "bash", "-c", line)
    async with aiohttp.ClientSession(headers=api.headers) as session:
        client = TerminalClient(session, api.attach_url(box, terminal), client="one")
        await asyncio.wait_for(client.run(), 60)
    masked_behind_the_head(bytes(client.output))


MISTAKES = (
    r"s/./x\x08&/g",
    r"s/..../&xyz\x1b[3D/g",
    r"s/^.../&wrong\r\x1b[3C/",
    r"s/^\(.*\)\(.\{9\}\)$/\x1b[21C\2\r\1/",
)


@pytest.mark.parametrize("mistake", MISTAKES)
async def test_secret_with_mistakes_drawn_over_is_masked_at_a_terminal(
    api: Api, box: str, mistake: str
) -> None:
    """The control is the same text without redaction, whose rows show the secret."""
    spelled = f'printf %s "$KEY" | sed "{mistake}"'
    terminal = api.terminal(box, "bash", "-c", SAY + f'BODY=$({spelled}); echo; echo "$BODY"')
    async with aiohttp.ClientSession(headers=api.headers) as session:
        client = TerminalClient(session, api.attach_url(box, terminal), client="one")
        await asyncio.wait_for(client.run(), 60)
    written = subprocess.run(
        ["sed", mistake], input=CANARY.encode(), capture_output=True, check=True
    ).stdout
    assert CANARY.encode() not in oracle.text(written)
    assert oracle.overdrawn(written, (CANARY,))
    said = bytes(client.output)
    assert not oracle.overdrawn(said, (CANARY,))
    assert said.count(b"*") >= 8


def masked_behind_the_head(said: bytes) -> None:
    """Each letter of the secret is an asterisk, and nothing else has changed."""
    assert HEAD in said
    text = oracle.text(bytes(said[said.index(HEAD) :]))
    assert text == b"line" * 8 + b"*" * len(CANARY) + b"<end>"


def test_command_line_of_an_exec_is_not_told(api: Api, box: str) -> None:
    told = api.call("POST", f"/v1/sandboxes/{box}/exec", json={"argv": ["true", CANARY]})
    listed = api.call("GET", f"/v1/sandboxes/{box}/exec")
    assert CANARY not in json.dumps([told, listed])


async def test_terminal_output_and_title_are_masked_for_every_viewer(api: Api, box: str) -> None:
    line = SAY + r'printf "a:%s:z\033]0;t-%s\007" "$KEY" "$KEY"; for c in $(printf %s "$KEY" | '
    # The last output comes before the end of the program.
    line += r'sed "s/./& /g"); do printf %s "$c"; sleep 0.01; done; echo; sleep 0.1'
    terminal = api.terminal(box, "bash", "-c", line)
    async with aiohttp.ClientSession(headers=api.headers) as session:
        url = api.attach_url(box, terminal)
        clients = [TerminalClient(session, url, client=name) for name in ("one", "two")]
        await asyncio.wait_for(asyncio.gather(*(each.run() for each in clients)), 30)
    for each in clients:
        assert CANARY.encode() not in each.output
        # Letter by letter, a tick lets up to seven go before it is a secret.
        assert CANARY[8:].encode() not in each.output
        assert b"a:" + b"*" * len(CANARY) + b":z" in each.output
    assert clients[0].output == clients[1].output
    told = api.call("GET", f"/v1/sandboxes/{box}/terminals/{terminal}")
    assert told["title"] == "t-" + "*" * len(CANARY)
    assert CANARY not in json.dumps(told)


def test_file_with_the_secret_is_refused_until_its_owner_allows_it(api: Api, box: str) -> None:
    api.run(box, SAY + 'printf "%s" "x$KEY" > /workspace/leak.txt')
    path = f"/v1/sandboxes/{box}/files/content"
    for headers in ({}, {"Range": "bytes=5-12"}):
        refused = api.client.get(path, params={"path": "leak.txt"}, headers=headers)
        assert refused.status_code == 409, refused.text
        assert refused.json()["code"] == "holds_secret"
        assert CANARY not in refused.text
    allowed = api.client.get(path, params={"path": "leak.txt", "secrets": "allow"})
    assert allowed.content == b"x" + CANARY.encode()
    wrong = api.client.get(path, params={"path": "leak.txt", "secrets": "maybe"})
    assert wrong.status_code == 422


def test_tree_with_the_secret_is_refused_until_its_owner_allows_it(api: Api, box: str) -> None:
    api.run(box, SAY + 'mkdir -p /workspace/t && printf "%s" "$KEY" > /workspace/t/f')
    path = f"/v1/sandboxes/{box}/files/archive"
    refused = api.client.get(path, params={"path": "t"})
    assert (refused.status_code, refused.json()["code"]) == (409, "holds_secret")
    allowed = api.client.get(path, params={"path": "t", "secrets": "allow"})
    with tarfile.open(fileobj=io.BytesIO(allowed.content)) as tar:
        found = tar.extractfile(next(m for m in tar.getmembers() if m.isfile()))
        assert found is not None and found.read() == CANARY.encode()


def test_clean_file_goes_out_as_it_is(api: Api, box: str) -> None:
    api.run(box, "head -c 700000 /dev/zero | tr '\\0' k > /workspace/clean")
    got = api.client.get(f"/v1/sandboxes/{box}/files/content", params={"path": "clean"})
    assert got.content == b"k" * 700000


def test_copy_by_command_needs_the_word_for_it(api: Api, box: str, tmp_path: object) -> None:
    api.run(box, SAY + 'printf "%s" "$KEY" > /workspace/cp.txt')
    refused = api.server.run("cp", "leaky:cp.txt", f"{tmp_path}/x")
    assert refused.returncode != 0 and "secret" in refused.stderr
    assert CANARY not in refused.stdout + refused.stderr
    taken = api.server.run("cp", "--with-secrets", "leaky:cp.txt", "-")
    assert taken.stdout == CANARY


def test_names_and_errors_do_not_tell_it(api: Api, box: str) -> None:
    answers = [
        api.client.get(f"/v1/sandboxes/{box}/files/stat", params={"path": CANARY}).text,
        api.client.post(f"/v1/sandboxes/{box}/terminals", json={"argv": [CANARY]}).text,
        api.client.post(f"/v1/sandboxes/{box}/exec", json={"argv": [CANARY]}).text,
        api.client.put(
            f"/v1/sandboxes/{box}/files/content", params={"path": CANARY}, content=b"x"
        ).text,
        api.client.get(f"/v1/sandboxes/{box}/files", params={"path": "."}).text,
    ]
    assert CANARY not in "".join(answers)


def test_nothing_on_disk_holds_it_but_the_keys_themselves(api: Api, box: str) -> None:
    """Last in the file: whatever was tried before must have left nothing."""
    api.run(box, "rm -rf /workspace/* /tmp/r")
    assert CANARY not in json.dumps(api.events(box))
    # Disks of sandboxes are left out: blocks of deleted files stay in them.
    small = subprocess.run(
        ["find", str(api.server.home), "-xdev", "-type", "f", "-size", "-32M", "-print0"],
        capture_output=True, check=True,
    ).stdout.split(b"\0")  # fmt: skip
    files = [Path(os.fsdecode(name)) for name in small if name] + [api.server.log]
    found = [file.name for file in files if CANARY.encode() in _read_present(file)]
    assert found == ["keys.toml"]


def _read_present(file: Path) -> bytes:
    """Return the bytes of a file; none of one that was removed since it was listed."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""
