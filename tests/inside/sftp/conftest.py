"""The server over a folder of its own: as it is shipped, and watched by the compiler's checks of
addresses and of undefined behaviour."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.inside.architectures import own_init
from tests.inside.sftp.client import SftpClient
from tests.places import ROOT

Server = Callable[..., list[str]]
NATIVE = ROOT / "native" / "init"
CHECKS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@pytest.fixture(scope="session")
def checked_init(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The init with the checks compiled in."""
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("gcc is not installed")
    out = tmp_path_factory.mktemp("checked") / "init"
    folders = [NATIVE, NATIVE / "tree", NATIVE / "sftp"]
    sources = [str(source) for folder in folders for source in sorted(folder.glob("*.c"))]
    words = [f"-I{folder}" for folder in folders]
    argv = [gcc, "-std=c11", "-g", *CHECKS, "-pthread", *words, "-o", str(out)]
    done = subprocess.run([*argv, *sources], capture_output=True, check=False)
    if b"cannot find" in done.stderr:
        pytest.skip("gcc has no library of its checks")
    assert done.returncode == 0, done.stderr.decode()
    return str(out)


@pytest.fixture(params=["shipped", "checked"])
def program(request: pytest.FixtureRequest) -> str:
    """The init that is tested."""
    if request.param == "shipped":
        return own_init()[0]
    checked: str = request.getfixturevalue("checked_init")
    return checked


@pytest.fixture
def top() -> Iterator[Path]:
    """A folder with a workspace, a folder of state, and a secret beside them."""
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        place = Path(folder)
        (place / "workspace").mkdir()
        (place / "home" / "agent" / ".state").mkdir(parents=True)
        (place / "home" / "agent" / ".bashrc").write_text("secret")
        (place / "secret").write_text("secret")
        yield place


@pytest.fixture
def work(top: Path) -> Path:
    """The workspace."""
    return top / "workspace"


@pytest.fixture
def server(program: str, top: Path) -> Server:
    """The words that start the server with given options."""
    roots = ("--root", str(top / "workspace"), "--root", str(top / "home/agent/.state"))
    return lambda *options: [program, "sftp", *roots, *options]


@pytest.fixture
def sftp(server: Server) -> Iterator[SftpClient]:
    """A client that has greeted the server."""
    with SftpClient(server()) as client:
        yield client
