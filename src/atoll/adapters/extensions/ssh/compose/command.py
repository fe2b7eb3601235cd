"""The program `docker compose` of this machine, with a document of ours and nothing else.

It gets a folder and an environment of its own: no `.env`, no person's login or context.
"""

import asyncio
import os
import shutil
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from atoll.domain.errors import Failed, Invalid, Unavailable
from atoll.domain.sandboxes.image import tells_absent_image

UP_SECONDS = 900.0
"""Images may have to be fetched by the host, and services may have to become healthy."""

VERSION_SECONDS = 30.0
NOT_HERE = (
    "ext.compose-ssh needs compose on this machine: install the package docker-compose (or "
    "docker-compose-v2)"
)
PLUGINS = tuple(
    Path(place, "docker/cli-plugins/docker-compose")
    for place in ("/usr/libexec", "/usr/lib", "/usr/local/libexec", "/usr/local/lib")
)
"""Places where docker looks for the second version, for everybody."""

MAX_OUTPUT = 1500


@dataclass(frozen=True, slots=True)
class Compose:
    """The program: `docker compose` (v2), else `docker-compose`."""

    words: tuple[str, ...]

    async def up(self, engine: Path, project: str, document: str) -> None:
        """Bring all services of a document up. Raises `Invalid` for an image that no registry has
        for us, `Failed` with the last words of the program, `Unavailable` when it does not end in
        time."""
        with TemporaryDirectory(prefix="atcompose") as folder:
            file = Path(folder) / "compose.yaml"
            await asyncio.to_thread(file.write_text, document)
            place = ("--project-directory", folder, "-p", project, "-f", str(file))
            code, output = await _run(
                (*self.words, *place, "up", "-d", "--no-build", "--remove-orphans"),
                folder,
                seconds=UP_SECONDS,
                env={"DOCKER_HOST": f"unix://{engine}", "COMPOSE_HTTP_TIMEOUT": "300"},
            )
        if code:
            why = f"the services did not start: {output[-MAX_OUTPUT:] or f'it ended with {code}'}"
            if tells_absent_image(output[-MAX_OUTPUT:]):
                raise Invalid(why, field="inputs.compose_bundle_ref")
            raise Failed(why)


async def find_compose() -> Compose:
    """Return what is installed. Raises `Failed` when nothing is."""
    docker = shutil.which("docker")
    if docker is not None:
        with TemporaryDirectory(prefix="atcompose") as folder:
            words = (docker, "compose", "version")
            code, _ = await _run(words, folder, seconds=VERSION_SECONDS, env={})
        if code == 0:
            return Compose((docker, "compose"))
    alone = shutil.which("docker-compose")
    if alone is None:
        raise Failed(NOT_HERE)
    return Compose((alone,))


def check_installed() -> None:
    """Check that there is a program of compose, alone or a part of docker's. Runs nothing. Raises
    `Failed`."""
    part = shutil.which("docker") and any(map(Path.exists, PLUGINS))
    if not part and shutil.which("docker-compose") is None:
        raise Failed(NOT_HERE)


async def _run(
    words: tuple[str, ...], folder: str, *, seconds: float, env: dict[str, str]
) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=folder,
        env={
            "HOME": folder,
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "TMPDIR": folder,
            **env,
        },
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            output, _ = await process.communicate()
    except TimeoutError as err:
        raise Unavailable(f"{words[0]} did not end within {seconds:g} s") from err
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return process.returncode or 0, output.decode(errors="replace").strip()
