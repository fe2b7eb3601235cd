"""Settings of the store in which contents lie: a folder, or a bucket of an S3 service."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from atoll.adapters.auth.private_file import read_private
from atoll.domain.errors import Failed, Invalid
from atoll.ports.contents.blobs import is_blob_name

MAX_CREDENTIAL_BYTES: Final = 4096
_S3: Final = "s3://"
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_WORD: Final = re.compile(r"[!-~]{1,200}")
_REGION: Final = re.compile(r"[a-z0-9-]{1,40}")
_LOOPBACK: Final = {"127.0.0.1", "::1", "localhost"}


@dataclass(frozen=True, slots=True)
class BlobSettings:
    """Settings of the store of contents. Raises `Invalid` for half a bucket, or an endpoint that
    would get keys in the clear.

    `content_store`: a folder of this machine, or `s3://BUCKET/FOLDER`; None is `contents` in the
    home.
    `content_endpoint`: where the S3 service answers, `https://…`; None is Amazon's own.
    `content_region`: its region.
    `content_credentials_file`: a file, mode 0600, with the id of a key and the key, a line each;
    None takes $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY.
    """

    content_store: str | None = None
    content_endpoint: str | None = None
    content_region: str = "us-east-1"
    content_credentials_file: str | None = None

    def __post_init__(self) -> None:
        if self.bucket is None:
            self._check_folder()
        else:
            self._check_bucket(self.bucket)

    @property
    def shared(self) -> bool:
        """True where other servers can have the same contents."""
        return self.content_store is not None

    @property
    def bucket(self) -> str | None:
        """The name of the bucket, None where contents lie in a folder of this machine."""
        store = self.content_store or ""
        return store[len(_S3) :].partition("/")[0] if store.startswith(_S3) else None

    @property
    def bucket_folder(self) -> str:
        """The folder in the bucket, empty for all of it."""
        return (self.content_store or "")[len(_S3) :].partition("/")[2]

    def _check_folder(self) -> None:
        if self.content_store is not None and not self.content_store.startswith("/"):
            raise Invalid(
                "content_store is an absolute path, or s3://BUCKET/FOLDER", field="content_store"
            )
        for name in ("content_endpoint", "content_credentials_file"):
            if getattr(self, name) is not None:
                raise Invalid(f"{name} belongs to a content_store of s3://: set both", field=name)

    def _check_bucket(self, bucket: str) -> None:
        if not _BUCKET.fullmatch(bucket):
            raise Invalid(f"{bucket[:80]!r} is no name of a bucket", field="content_store")
        if self.bucket_folder and not is_blob_name(self.bucket_folder):
            raise Invalid("the folder in the bucket has other characters", field="content_store")
        if self.content_endpoint is not None and not _is_safe(self.content_endpoint):
            raise Invalid(
                "content_endpoint must be https://…, or http:// to this machine",
                field="content_endpoint",
            )
        if not _REGION.fullmatch(self.content_region):
            raise Invalid("content_region is no name of a region", field="content_region")

    def credentials(self, environ: Mapping[str, str]) -> "BucketKey":
        """Return the key of the bucket. Blocking. Raises `Failed` for a file that is missing, open
        to others, or not two lines, and where there is neither a file nor a variable."""
        if self.content_credentials_file is None:
            words = [environ.get("AWS_ACCESS_KEY_ID"), environ.get("AWS_SECRET_ACCESS_KEY")]
            source = "content_store needs content_credentials_file, or AWS_ACCESS_KEY_ID and AWS_"
            source += "SECRET_ACCESS_KEY"
        else:
            path = Path(self.content_credentials_file)
            data = read_private(path, MAX_CREDENTIAL_BYTES) or b""
            words = [*data.decode("ascii", "replace").split("\n")]
            words = [word.strip() for word in words if word and word.strip()]
            source = f"{path.name} (content_credentials_file) has two lines: a key's id and the key"
        if len(words) != 2 or not all(word and _WORD.fullmatch(word) for word in words):
            raise Failed(source)
        return BucketKey(words[0] or "", words[1] or "")


@dataclass(frozen=True, slots=True)
class BucketKey:
    """A key of an S3 service."""

    id: str
    secret: str = field(repr=False)


def _is_safe(endpoint: str) -> bool:
    """Report whether an endpoint is one, and gets keys and bytes by TLS or on this machine."""
    try:
        parts = urlsplit(endpoint)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or parts.username is not None or parts.query or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)
