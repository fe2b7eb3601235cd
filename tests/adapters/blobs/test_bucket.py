from collections.abc import Iterator

import pytest

from atoll.adapters.blobs.bucket import BucketBlobs
from atoll.adapters.blobs.settings import BlobSettings, BucketKey
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.testing import BlobsContract
from tests.claims import free_port
from tests.peers.contents.buckets import KEY, READER, Buckets, buckets, elsewhere


@pytest.fixture(scope="module")
def service() -> Iterator[Buckets]:
    with buckets() as started:
        yield started


class TestBucketBlobs(BlobsContract):
    @pytest.fixture
    def blobs(self, service: Buckets) -> BucketBlobs:
        return BucketBlobs(service.settings(), KEY)


async def refusal(blobs: BucketBlobs) -> AtollError:
    """Return the error of a put, which every other act has, too."""
    with pytest.raises(AtollError) as caught:
        await blobs.put("a/one", b"x")
    for act in (blobs.get, blobs.find):
        with pytest.raises(type(caught.value)):
            await act("a/one")
    with pytest.raises(type(caught.value)):
        await anext(aiter(blobs.list("a")))
    assert "canary" not in str(caught.value)
    return caught.value


async def test_wrong_key_is_refused_and_not_named(service: Buckets) -> None:
    wrong = BucketBlobs(service.settings(), BucketKey(KEY.id, "canary-wrong"))
    assert isinstance(await refusal(wrong), Failed)


async def test_key_that_may_not_write_is_refused(service: Buckets) -> None:
    with pytest.raises(Failed, match="refuses"):
        await BucketBlobs(service.settings(), READER).put("a/one", b"x")


async def test_bucket_that_is_not_there_is_said_and_no_blob_missing(service: Buckets) -> None:
    settings = elsewhere(service.settings(), "absent-bucket")
    with pytest.raises(Failed, match="no bucket absent-bucket"):
        await BucketBlobs(settings, KEY).get("a/one")


async def test_service_that_does_not_answer_is_unavailable() -> None:
    away = BlobSettings(
        content_store="s3://contents", content_endpoint=f"http://127.0.0.1:{free_port()}"
    )
    assert isinstance(await refusal(BucketBlobs(away, KEY)), Unavailable)


async def test_folders_of_one_bucket_do_not_meet(service: Buckets) -> None:
    one, other = (BucketBlobs(service.settings(name), KEY) for name in ("one", "other"))
    await one.put("a/x", b"one")
    assert await other.find("a/x") is None
    assert [blob async for blob in other.list()] == []
    await other.put("a/x", b"other")
    assert await one.get("a/x") == b"one"
    whole = BucketBlobs(elsewhere(service.settings(), "contents"), KEY)
    assert {blob.name async for blob in whole.list("one")} == {"one/a/x"}
