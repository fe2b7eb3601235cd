"""Blobs as objects in a bucket of an S3 service, by the library `obstore`.

The library signs, retries with pauses and checks what is put by the condition `If-None-Match: *`.
It is loaded with the bucket alone.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from atoll.adapters.blobs.settings import BlobSettings, BucketKey
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.ports.contents.blobs import (
    MAX_BLOB_BYTES,
    Blob,
    check_blob_name,
    check_blob_size,
    missing_blob,
)

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import S3Store

REQUEST_SECONDS: Final = 60
CONNECT_SECONDS: Final = 5
RETRIES: Final = 3
RETRY_SECONDS: Final = 20
"""For so long after its beginning a request is repeated."""

_LISTED: Final = 1000
_NO_BUCKET: Final = "NoSuchBucket"
_REFUSED: Final = ("403 Forbidden", "401 Unauthorized", "400 Bad Request", "InvalidBucketName")


class BucketBlobs:
    """The `ports.contents.blobs.Blobs` in the bucket of the settings."""

    def __init__(self, settings: BlobSettings, key: BucketKey) -> None:
        self._bucket, self._folder = settings.bucket or "", settings.bucket_folder
        self._store = _open_store(settings, key, self._bucket)

    async def put(self, name: str, data: bytes) -> bool:
        """See the port."""
        import obstore

        check_blob_name(name)
        check_blob_size(name, len(data))
        with self._translate_errors(name):
            try:
                # In one request: the parts of an upload take no condition in every service.
                await obstore.put_async(
                    self._store, self._path(name), data, mode="create", use_multipart=False
                )
            except obstore.exceptions.AlreadyExistsError:
                return False
        return True

    async def get(self, name: str) -> bytes:
        """See the port."""
        import obstore

        check_blob_name(name)
        with self._translate_errors(name):
            answer = await obstore.get_async(self._store, self._path(name))
            if answer.meta["size"] > MAX_BLOB_BYTES:
                raise Failed(f"{name} in the bucket is no blob of ours: it was not read")
            return bytes(await answer.bytes_async())

    async def find(self, name: str) -> Blob | None:
        """See the port."""
        import obstore

        check_blob_name(name)
        try:
            with self._translate_errors(name):
                return self._describe(await obstore.head_async(self._store, self._path(name)))
        except AtollError as error:
            if error.code == "not_found":
                return None
            raise

    async def list(self, folder: str = "") -> AsyncIterator[Blob]:
        """See the port."""
        import obstore

        if folder:
            check_blob_name(folder)
        batches = obstore.list(self._store, self._path(folder) or None, chunk_size=_LISTED)
        while True:
            with self._translate_errors(folder):
                try:
                    batch = await anext(batches)
                except StopAsyncIteration:
                    return
            for meta in batch:
                yield self._describe(meta)

    async def delete(self, name: str) -> None:
        """See the port."""
        import obstore

        check_blob_name(name)
        try:
            with self._translate_errors(name):
                await obstore.delete_async(self._store, self._path(name))
        except AtollError as error:
            if error.code != "not_found":
                raise

    def _path(self, name: str) -> str:
        return "/".join(word for word in (self._folder, name) if word)

    def _describe(self, meta: "ObjectMeta") -> Blob:
        name = meta["path"].removeprefix(f"{self._folder}/" if self._folder else "")
        return Blob(name, meta["size"], meta["last_modified"])

    @contextmanager
    def _translate_errors(self, name: str) -> Iterator[None]:
        """Raise errors of the library as those of the port. Its messages have URLs and no keys;
        their first line says enough."""
        import obstore

        try:
            yield
        except FileNotFoundError as error:
            if _NO_BUCKET in str(error):
                raise Failed(f"There is no bucket {self._bucket}: make it.") from error
            raise missing_blob(name) from error
        except obstore.exceptions.BaseError as error:
            text = str(error)
            reason = _first_line(text)
            if isinstance(error, _denials()) or any(word in text for word in _REFUSED):
                raise Failed(f"The bucket {self._bucket} refuses: {reason}") from error
            if _NO_BUCKET in text:
                raise Failed(f"There is no bucket {self._bucket}: make it.") from error
            raise Unavailable(f"The bucket {self._bucket} does not answer: {reason}") from error


def _denials() -> tuple[type[Exception], ...]:
    from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

    return PermissionDeniedError, UnauthenticatedError


def _first_line(text: str) -> str:
    return text.partition("\n")[0][:300]


def _open_store(settings: BlobSettings, key: BucketKey, bucket: str) -> "S3Store":
    """Return the library's store. It makes no connection yet. Raises `Failed` without the
    library."""
    try:
        from obstore.store import S3Store
    except ImportError as error:
        raise Failed("content_store needs the library obstore: pip install 'atoll[s3]'") from error
    endpoint = settings.content_endpoint
    return S3Store(
        bucket,
        endpoint=endpoint,
        region=settings.content_region,
        access_key_id=key.id,
        secret_access_key=key.secret,
        # A service at one address knows no names for its buckets.
        virtual_hosted_style_request=endpoint is None,
        conditional_put="etag",
        client_options={
            "allow_http": (endpoint or "").startswith("http:"),
            "timeout": timedelta(seconds=REQUEST_SECONDS),
            "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
        },
        retry_config={
            "max_retries": RETRIES,
            "retry_timeout": timedelta(seconds=RETRY_SECONDS),
        },
    )
