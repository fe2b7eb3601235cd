"""The guide of the Python client: its ten examples run in their order, and print what it says."""

import asyncio
import contextlib
import inspect
import io
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

import atoll.client
from atoll.client import Atoll
from atoll.client.aio.events import AsyncEvents
from atoll.client.aio.nouns import AsyncNoun
from atoll.testing.server import TestServer, test_server
from tests.places import ROOT

PAGE = (ROOT / "docs/program/client.md").read_text()
EXAMPLE = re.compile(r"### (\d+)\. ([^\n]+)\n\n```python\n(.*?)```\n```text\n(.*?)```", re.DOTALL)
EXAMPLES = EXAMPLE.findall(PAGE)
# It speaks Claude's protocol: it asks for a permission and ends its turn by the answer.
CLAUDE = r"""#!/bin/sh
while read -r line; do
  case $line in
  *'"behavior":"allow"'*)
    echo '{"type":"result","subtype":"success","is_error":false,"duration_ms":1}' ;;
  *'"type":"user"'*)
    wants='"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"}'
    echo '{"type":"control_request","request_id":"r1","request":{'"$wants"'}}' ;;
  esac
done
"""
KEYS = '[anthropic]\nkey = "sk-ant-nothing-but-a-test"\nbase_url = "http://127.0.0.1:9"\n'


@pytest.fixture
def server() -> Iterator[TestServer]:
    with test_server(keys=KEYS, start=False) as made:
        programs = made.home / "agents" / "claude-code" / "2.1.332" / "bin"
        programs.mkdir(parents=True)
        (programs / "claude").write_text(CLAUDE)
        (programs / "claude").chmod(0o755)
        (made.home / "config.toml").write_text("allow_loopback_webhooks = true\n")
        made.start()
        yield made


def prints(wanted: str) -> re.Pattern[str]:
    """The output of an example: `…` stands for anything, other lines included."""
    return re.compile(".*".join(re.escape(part) for part in wanted.split("…")), re.DOTALL)


async def play(code: str, names: dict[str, Any]) -> str:
    """Run an example as the body of a coroutine; its names stay for the next one."""
    body = textwrap.indent(code, "    ")
    exec(compile(f"async def _main():\n{body}\n    return locals()\n", "client.md", "exec"), names)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        async with asyncio.timeout(90):
            names.update(await names["_main"]())
    return said.getvalue()


def test_there_are_ten_examples() -> None:
    assert [number for number, *_ in EXAMPLES] == [str(n) for n in range(1, 11)]


@pytest.mark.timeout(400)
async def test_examples_print_what_the_guide_says(
    server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATOLL_HOME", str(server.home))
    monkeypatch.delenv("ATOLL_URL", raising=False)
    monkeypatch.delenv("ATOLL_TOKEN", raising=False)
    names = {name: getattr(atoll.client, name) for name in atoll.client.__all__}
    names |= {"asyncio": asyncio}
    async with Atoll() as client:
        names["atoll"] = client
        for number, title, code, wanted in EXAMPLES:
            said = await play(code, names)
            assert prints(wanted).fullmatch(said), f"{number}. {title} printed:\n{said}"


def test_table_names_every_method() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ((?:`\w+` ?)+)\|$", PAGE, re.MULTILINE)
    told = {noun: set(re.findall(r"\w+", methods)) for noun, methods in rows}
    client = Atoll("http://127.0.0.1:1", "x")
    there = {
        name: {one for one in dir(noun) if not one.startswith("_")} - {"blocking", "perform"}
        for name, noun in vars(client).items()
        if isinstance(noun, AsyncNoun | AsyncEvents)
    }
    assert told == there


def test_every_method_has_a_docstring() -> None:
    for noun in vars(Atoll("http://127.0.0.1:1", "x")).values():
        for name in dir(noun) if isinstance(noun, AsyncNoun) else ():
            assert name.startswith("_") or inspect.getdoc(getattr(noun, name)), name
