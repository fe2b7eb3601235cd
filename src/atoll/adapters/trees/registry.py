"""Images fetched into an OCI layout: by skopeo where it is installed, else from the registry itself
(distribution specification). Unpacks nothing.

Every blob is checked by digest while it is written, and may be at most as large as announced. A
credential for the registry is sent to nobody else. Plain http is used only to this machine.
"""

import hashlib
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from pathlib import Path

import msgspec

from atoll.adapters.trees.image_parts import (
    MAX_DOCUMENT_BYTES,
    Descriptor,
    Manifest,
    choose,
    read_document,
)
from atoll.domain.errors import AtollError, Failed, Forbidden, LimitReached, NotFound, Unavailable
from atoll.domain.sandboxes.image import Reference, hex_of

Report = Callable[[str], None]
CHUNK_BYTES = 2**20
MAX_BLOB_BYTES = 16 * 2**30
SECONDS = 60.0
SKOPEO_SECONDS = 3600
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_ACCEPT = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_PARAMETER = re.compile(r'([a-z]+)="([^"]*)"')


class _Token(msgspec.Struct):
    token: str = ""
    access_token: str = ""


def fetch(wanted: Reference, layout: Path, *, machine: str, report: Report) -> None:
    """Make an OCI layout of one image at `layout`. Raises `NotFound`, `Forbidden` (a login is
    needed), `Unavailable`, `LimitReached`, `Failed`, `Invalid` (no such platform)."""
    skopeo = shutil.which("skopeo", path=_SYSTEM_PATH)
    layout.mkdir()
    if skopeo is not None and not _local(wanted):
        _by_skopeo(skopeo, wanted, layout, report)
    else:
        _Registry(wanted, layout, report).fetch(machine)


def _local(wanted: Reference) -> bool:
    host = wanted.registry if wanted.registry.endswith("]") else wanted.registry.rpartition(":")[0]
    return (host or wanted.registry) in LOOPBACK


def _by_skopeo(skopeo: str, wanted: Reference, layout: Path, report: Report) -> None:
    report(f"fetching {wanted} by skopeo")
    argv = [skopeo, "copy", "--quiet", "--insecure-policy", f"docker://{wanted}", f"oci:{layout}"]
    env = {name: os.environ[name] for name in ("HOME", "PATH", "HTTPS_PROXY", "NO_PROXY")
           if name in os.environ}  # fmt: skip
    try:
        done = subprocess.run(
            argv, capture_output=True, timeout=SKOPEO_SECONDS, check=False, env=env
        )
    except subprocess.TimeoutExpired as err:
        raise Unavailable(f"{wanted} did not come within {SKOPEO_SECONDS} s") from err
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()[-1000:]
        raise Failed(f"{wanted} cannot be fetched: {said}")


@dataclass(slots=True)
class _Registry:
    """An image of one registry."""

    wanted: Reference
    layout: Path
    report: Report
    _token: str | None = field(default=None, repr=False)

    def fetch(self, machine: str) -> None:
        """Fetch manifest, configuration and layers, then write the files of a layout."""
        self.report(f"fetching {self.wanted}")
        blobs = self.layout / "blobs" / "sha256"
        blobs.mkdir(parents=True)
        data = self._document(self.wanted.wanted)
        manifest = read_document(data, Manifest)
        if manifest.manifests:
            data = self._document(choose(manifest.manifests, machine).digest)
            manifest = read_document(data, Manifest)
        (blobs / hashlib.sha256(data).hexdigest()).write_bytes(data)
        parts = (*([manifest.config] if manifest.config else []), *manifest.layers)
        for number, part in enumerate(parts, 1):
            self._blob(part, blobs / hex_of(part.digest), number, len(parts))
        index = Manifest(manifests=(Descriptor(f"sha256:{hashlib.sha256(data).hexdigest()}"),))
        (self.layout / "index.json").write_bytes(msgspec.json.encode(index))
        (self.layout / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')

    def _document(self, name: str) -> bytes:
        with self._get(f"manifests/{name}", _ACCEPT) as answer:
            data = answer.read(MAX_DOCUMENT_BYTES + 1)
        if len(data) > MAX_DOCUMENT_BYTES:
            raise LimitReached(f"the manifest of {self.wanted} is too large")
        if name.startswith("sha256:") and hashlib.sha256(data).hexdigest() != hex_of(name):
            raise Failed(f"the registry gave another manifest than {name[:19]}…")
        return data

    def _blob(self, part: Descriptor, place: Path, number: int, count: int) -> None:
        if not 0 < part.size <= MAX_BLOB_BYTES:
            raise LimitReached(f"a part of {self.wanted} is {part.size} bytes large")
        if place.exists():
            return
        self.report(f"part {number} of {count}: {part.size / 2**20:.1f} MiB")
        seen, left = hashlib.sha256(), part.size
        with self._get(f"blobs/{part.digest}", "*/*") as answer, place.open("xb") as out:
            while left and (data := answer.read(min(CHUNK_BYTES, left))):
                seen.update(data)
                out.write(data)
                left -= len(data)
        if left or seen.hexdigest() != hex_of(part.digest):
            place.unlink()
            raise Failed(f"part {number} of {self.wanted} came damaged: try again")

    def _get(self, path: str, accept: str) -> HTTPResponse:
        scheme = "http" if _local(self.wanted) else "https"
        url = f"{scheme}://{self.wanted.registry}/v2/{self.wanted.repository}/{path}"
        request = urllib.request.Request(url, headers={"Accept": accept})  # noqa: S310
        try:
            return self._open_url(request)
        except urllib.error.HTTPError as err:
            if err.code != 401 or self._token is not None:
                raise self._error_of(err) from err
            self._token = self._login(err.headers.get("WWW-Authenticate", ""))
        try:
            return self._open_url(request)
        except urllib.error.HTTPError as err:
            raise self._error_of(err) from err

    def _open_url(self, request: urllib.request.Request) -> HTTPResponse:
        if self._token is not None:
            # The credential is not sent to the target of a redirect.
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            answer: HTTPResponse = urllib.request.urlopen(request, timeout=SECONDS)  # noqa: S310
        except urllib.error.HTTPError:
            raise
        except (OSError, HTTPException, ValueError) as err:
            raise Unavailable(f"{self.wanted.registry} cannot be reached: {err}") from err
        return answer

    def _error_of(self, err: urllib.error.HTTPError) -> AtollError:
        if err.code in (401, 403):
            return Forbidden(
                f"{self.wanted} needs a login: install skopeo and log in with it, then pull again"
            )
        if err.code == 404:
            return NotFound(f"the registry has no image {self.wanted}")
        return Unavailable(f"{self.wanted.registry} answered {err.code}: try again later")

    def _login(self, challenge: str) -> str:
        """Return an anonymous token, by the registry's challenge."""
        words = dict(_PARAMETER.findall(challenge))
        realm = words.pop("realm", "")
        if not challenge.lower().startswith("bearer ") or not _secure(realm):
            raise Forbidden(
                f"{self.wanted} needs a login: install skopeo and log in with it, then pull again"
            )
        query = urllib.parse.urlencode(
            {k: v for k, v in words.items() if k in ("service", "scope")}
        )
        try:
            with urllib.request.urlopen(f"{realm}?{query}", timeout=SECONDS) as answer:  # noqa: S310
                told = read_document(answer.read(MAX_DOCUMENT_BYTES), _Token)
        except (OSError, HTTPException, ValueError) as err:
            raise Unavailable(f"no token from {realm}: {err}") from err
        return told.token or told.access_token


def _secure(url: str) -> bool:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in
                                       ("127.0.0.1", "localhost", "::1"))  # fmt: skip
