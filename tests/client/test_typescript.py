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
from atoll.domain.sandboxes.sandbox import CreateSandbox
from tests.places import ROOT
from tests.surfaces.http.world import world

PACKAGE = ROOT / "clients" / "typescript"
TOOLS = ROOT / "ui" / "node_modules"
SAMPLES = ROOT / "tests" / "fixtures" / "protocol"

pytestmark = [
    pytest.mark.skipif(not (TOOLS / "typescript").is_dir(), reason="npm ci in ui/ brings tsc"),
    pytest.mark.skipif(shutil.which("node") is None, reason="no node"),
    pytest.mark.skipif(not (ROOT / ".venv/bin/buf").is_file(), reason="the extra dev brings Buf"),
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
    """A project with the packed client and its one peer in it, as npm would install them."""
    folder = tmp_path_factory.mktemp("project")
    told = json.loads(run("npm", "pack", "--json", "--pack-destination", str(folder), at=PACKAGE))
    place = folder / "node_modules" / "atoll-client"
    place.mkdir(parents=True)
    packed = folder / told[0]["filename"]
    run("tar", "-xzf", str(packed), "--strip-components=1", "-C", str(place), at=folder)
    (place.parent / "@bufbuild").symlink_to(TOOLS / "@bufbuild")
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
    assert told["peerDependenciesMeta"] == {"@bufbuild/protobuf": {"optional": True}}


def test_client_alone_loads_no_protobuf(installed: Path) -> None:
    loaded = [
        one
        for one in (installed / "node_modules/atoll-client/dist").glob("*.js")
        if "protobuf" in one.read_text()
    ]
    assert [one.name for one in loaded] == ["protocol.js"]


def test_messages_of_workers_read_every_sample(installed: Path) -> None:
    run("node", "--test", "protocol.test.mjs", at=installed, ATOLL_SAMPLES=str(SAMPLES))


async def test_client_works_against_a_server(installed: Path) -> None:
    async with world() as one:
        await one.services.sandboxes.create(LOCAL_PERSON, CreateSandbox(name="box"))
        await one.services.sandboxes.wait(LOCAL_PERSON, "box")
        env = {"ATOLL_URL": one.url, "ATOLL_TOKEN": one.token, "ATOLL_SANDBOX": "box"}
        words = ("node", "--test", "client.test.mjs")
        await asyncio.to_thread(run, *words, at=installed, **env)


def test_readme_compiles_and_wrong_calls_do_not(installed: Path) -> None:
    first, *others = (PACKAGE / "README.md").read_text().split("```ts\n")[1:]
    for name, text in (("readme", f"declare const process: any;\n{first}"), ("messages", *others)):
        (installed / f"{name}.ts").write_text(text.split("```")[0])
    libraries = ["es2023", "dom", "dom.iterable", "dom.asynciterable"]
    options = {"noEmit": True, "strict": True, "module": "nodenext", "target": "es2022"}
    project = {
        "compilerOptions": {**options, "lib": libraries, "types": []},
        "files": ["readme.ts", "messages.ts", "types.ts"],
    }
    (installed / "tsconfig.json").write_text(json.dumps(project))
    run("node", str(TOOLS / "typescript/bin/tsc"), at=installed)
