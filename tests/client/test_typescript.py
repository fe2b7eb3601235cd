"""The npm package of the TypeScript client: packed, installed elsewhere, and run by node."""

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import atoll
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandbox.sandbox import CreateSandbox
from tests.places import ROOT
from tests.surfaces.http.world import world

PACKAGE = ROOT / "clients" / "typescript"
TOOLS = ROOT / "ui" / "node_modules"

pytestmark = [
    pytest.mark.skipif(not (TOOLS / "typescript").is_dir(), reason="npm ci in ui/ brings tsc"),
    pytest.mark.skipif(shutil.which("node") is None, reason="no node"),
]


def run(*argv: str, at: Path, **env: str) -> str:
    done = subprocess.run(
        argv,
        cwd=at,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the packed client in it, as npm would install it: it has no dependencies."""
    folder = tmp_path_factory.mktemp("project")
    told = json.loads(run("npm", "pack", "--json", "--pack-destination", str(folder), at=PACKAGE))
    place = folder / "node_modules" / "atoll-client"
    place.mkdir(parents=True)
    packed = folder / told[0]["filename"]
    run("tar", "-xzf", str(packed), "--strip-components=1", "-C", str(place), at=folder)
    for test in (PACKAGE / "test").iterdir():
        shutil.copy(test, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def test_package_holds_what_runs_and_its_types_alone(installed: Path) -> None:
    place = installed / "node_modules" / "atoll-client"
    files = {str(one.relative_to(place)) for one in place.rglob("*") if one.is_file()}
    assert {"package.json", "README.md", "dist/index.js", "dist/index.d.ts"} <= files
    assert all(one.startswith("dist/") for one in files - {"package.json", "README.md"})
    told = json.loads((place / "package.json").read_text())
    assert "dependencies" not in told and told["version"] == atoll.__version__


async def test_client_works_against_a_server(installed: Path) -> None:
    async with world() as one:
        await one.services.sandboxes.create(LOCAL_PERSON, CreateSandbox(name="box"))
        await one.services.sandboxes.wait(LOCAL_PERSON, "box")
        env = {"ATOLL_URL": one.url, "ATOLL_TOKEN": one.token, "ATOLL_SANDBOX": "box"}
        words = ("node", "--test", "client.test.mjs")
        await asyncio.to_thread(run, *words, at=installed, **env)


def test_readme_compiles_and_wrong_calls_do_not(installed: Path) -> None:
    code = (PACKAGE / "README.md").read_text().split("```ts\n")[1].split("```")[0]
    (installed / "readme.ts").write_text(f"declare const process: any;\n{code}")
    libraries = ["es2023", "dom", "dom.iterable", "dom.asynciterable"]
    options = {"noEmit": True, "strict": True, "module": "nodenext", "target": "es2022"}
    project = {
        "compilerOptions": {**options, "lib": libraries, "types": []},
        "files": ["readme.ts", "types.ts"],
    }
    (installed / "tsconfig.json").write_text(json.dumps(project))
    run("node", str(TOOLS / "typescript/bin/tsc"), at=installed)
