"""A package of an agent whose scripts would run with the rights of whoever installs it: with the
real npm and pip, from a registry of the test's own."""

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path

import pytest

from atoll.adapters.agents.install import install
from atoll.domain.agents.agent import Package
from atoll.domain.agents.registry import find
from atoll.domain.errors import Failed

NAME, VERSION = "tinyagent", "1.0.0"
SETUP = """
import os, pathlib
pathlib.Path(os.environ["MARKER"]).touch()
from setuptools import setup
setup(name="tinyagent", version="1.0.0", py_modules=["tinyagent"])
"""


def packed(files: dict[str, bytes], *, below: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(f"{below}/{name}")
            info.size, info.mode = len(data), 0o755
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def npm_package() -> tuple[dict[str, object], bytes]:
    """What a registry says of the package, and its archive."""
    manifest: dict[str, object] = {
        "name": NAME,
        "version": VERSION,
        "bin": {"codex": "run.sh"},
        "scripts": dict.fromkeys(("preinstall", "install", "postinstall"), 'touch "$MARKER"'),
    }
    files = {"package.json": json.dumps(manifest).encode(), "run.sh": b"#!/bin/sh\n"}
    return manifest, packed(files, below="package")


@contextmanager
def registry() -> Iterator[str]:
    manifest, archive = npm_package()
    digest = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert isinstance(self.server, HTTPServer)
            address = f"http://127.0.0.1:{self.server.server_port}/archive.tgz"
            version = {**manifest, "dist": {"tarball": address, "integrity": digest}}
            document = {"name": NAME, "dist-tags": {"latest": VERSION}}
            told = json.dumps({**document, "versions": {VERSION: version}}).encode()
            body = archive if self.path == "/archive.tgz" else told
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "a-script-ran"
    monkeypatch.setenv("MARKER", str(place))
    return place


def quiet(_line: str) -> None:
    return


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_scripts_of_an_npm_package_do_not_run(
    tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Package("npm", NAME, VERSION, programs=("node_modules/.bin/codex",))
    with registry() as url:
        monkeypatch.setenv("npm_config_registry", url)
        monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
        # The control: as npm does it by itself, they run.
        words = ["npm", "install", "--prefix", str(tmp_path / "own"), f"{NAME}@{VERSION}"]
        subprocess.run(words, check=True, capture_output=True, cwd=tmp_path)
        assert marker.exists()
        marker.unlink()
        made = install(tmp_path / "agents", replace(find("codex"), package=package), None, quiet)
    assert (Path(made.path) / "bin" / "codex").exists()
    assert not marker.exists()


def test_package_that_pip_would_have_to_build_is_refused_and_nothing_of_it_runs(
    tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n".encode()
    files = {"setup.py": SETUP.encode(), "tinyagent.py": b"", "PKG-INFO": facts}
    archive = tmp_path / f"{NAME}-{VERSION}.tar.gz"
    archive.write_bytes(packed(files, below=f"{NAME}-{VERSION}"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    # The control: whoever builds it runs its setup.py.
    subprocess.run(
        ["/usr/bin/python3", "setup.py", "--version"],
        cwd=_unpacked(archive, tmp_path),
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        check=False,
    )
    assert marker.exists()
    marker.unlink()
    package = Package("pip", NAME, VERSION, programs=("venv/bin/aider",))
    with pytest.raises(Failed):
        install(tmp_path / "agents", replace(find("aider"), package=package), None, quiet)
    assert not marker.exists()


def _unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    return folder / f"{NAME}-{VERSION}"
