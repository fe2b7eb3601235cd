"""The commands of a front end of one's own, in docs/run/outside.md, as root and as anybody."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.walls.test_rootless import person
from tests.places import ROOT

pytestmark = pytest.mark.timeout(300)


def steps() -> list[str]:
    """Return the commands of the page, each with what is given to it."""
    page = (ROOT / "docs/run/outside.md").read_text()
    found = re.search(r"^## A front end of your own\n\n```console\n(.*?)^```", page, re.M | re.S)
    assert found is not None
    return re.split(r"^\$ ", found[1], flags=re.MULTILINE)[1:]


@contextmanager
def root() -> Iterator[TestServer]:
    """A server of root, whose own folder nobody else may enter."""
    own = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    try:
        with test_server({"HOME": str(own)}) as server:
            yield server
    finally:
        shutil.rmtree(own)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("whose", [root, person])
def test_commands_of_a_front_end_work_for_root_and_for_anybody(
    whose: Callable[[], AbstractContextManager[TestServer]],
) -> None:
    with whose() as server:
        printed = ""
        for step in steps():
            if step.startswith("atoll up "):
                server.down()
                server.start()
                continue
            command, _, said = step.rpartition("END\n") if "<<END" in step else step.partition("\n")
            command = command.replace("~/.local/state/atoll", str(server.home))
            command = command.replace("http://127.0.0.1:7680", server.url)
            end = "END\n" if "<<END" in command else ""
            argv = [*server.words_before, shutil.which("bash") or "bash", "-ec", command + end]
            done = subprocess.run(
                argv,
                env={**os.environ, **server.env},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, (command, done.stderr)
            printed = done.stdout
            assert printed.strip() == said.strip(), command
        assert printed.strip() == '{"sandboxes":[],"next":null}'
