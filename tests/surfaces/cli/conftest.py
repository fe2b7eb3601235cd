import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from atoll.surfaces.cli.entry import run
from tests.surfaces.cli.scripted import TOKEN, Scripted


@dataclass
class Ran:
    """What one command did."""

    code: int
    out: str
    err: str
    raw: bytes


Cli = Callable[..., Ran]


def no_host() -> Any:
    raise AssertionError("this command must not touch the machine")


@pytest.fixture
def server() -> Iterator[Scripted]:
    with Scripted().serving() as scripted:
        yield scripted


@pytest.fixture
def environ(server: Scripted, tmp_path: Path) -> dict[str, str]:
    return {"ATOLL_URL": server.url, "ATOLL_TOKEN": TOKEN, "ATOLL_HOME": str(tmp_path)}


@pytest.fixture
def cli(environ: dict[str, str], capfdbinary: pytest.CaptureFixture[bytes]) -> Cli:
    def call(*arguments: str, host: Callable[[], Any] = no_host) -> Ran:
        capfdbinary.readouterr()
        code = run(list(arguments), environ, host)
        out, err = capfdbinary.readouterr()
        return Ran(code, out.decode(errors="replace"), err.decode(errors="replace"), out)

    return call


def spawned(
    environ: dict[str, str],
    *arguments: str,
    stdout: int = subprocess.PIPE,
    cwd: Path | None = None,
) -> "subprocess.Popen[bytes]":
    """The command as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "atoll.wiring.command", *arguments],
        env={**os.environ, **environ},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
    )
