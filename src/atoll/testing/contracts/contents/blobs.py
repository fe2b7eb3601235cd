"""The contract of Blobs. Give `BlobsContract` the fixture `blobs`, an empty store."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import Invalid, NotFound
from atoll.ports.contents.blobs import MAX_BLOB_BYTES, Blobs

HOSTILE = (
    *("", "/", ".", "..", "../x", "a/../b", "/etc/passwd", "a//b", "a/", "/a", "a\0b"),
    *(
        "a\nb",
        "a b",
        ".hidden",
        "-a",
        "a/.new-x",
        "%2e%2e/x",
        "a\\b",
        "ä",
        "a" * 81,
        "a/b/c/d/e/f/g",
    ),
)
CLOCKS = timedelta(minutes=5)
"""The most that the store's clock may differ from this machine's."""


class BlobsContract:
    """Contract of a store of blobs: what was put first is there, whole, until it is deleted."""

    async def test_blob_comes_back_as_it_was_put_until_it_is_deleted(self, blobs: Blobs) -> None:
        """Bytes of any kind, and no bytes, too."""
        for name, data in (("a/one", bytes(range(256)) * 999), ("a/none", b""), ("z", b"z")):
            assert await blobs.put(name, data)
            assert await blobs.get(name) == data
            known = await blobs.find(name)
            assert known is not None and (known.name, known.size) == (name, len(data))
            assert abs(known.stored_at - datetime.now(UTC)) < CLOCKS
            for _ in range(2):
                await blobs.delete(name)
            assert await blobs.find(name) is None
            with pytest.raises(NotFound):
                await blobs.get(name)

    async def test_second_put_changes_nothing(self, blobs: Blobs) -> None:
        """Not even one of another size; after a delete the name is free."""
        assert await blobs.put("a/one", b"first")
        assert not await blobs.put("a/one", b"second")
        assert await blobs.get("a/one") == b"first"
        await blobs.delete("a/one")
        assert await blobs.put("a/one", b"third")
        assert await blobs.get("a/one") == b"third"

    async def test_of_puts_at_once_one_stores(self, blobs: Blobs) -> None:
        """The blob has the bytes of that put alone."""
        data = [bytes([number]) * 70_000 for number in range(8)]
        stored = await asyncio.gather(*(blobs.put("race/one", each) for each in data))
        assert stored.count(True) == 1
        assert await blobs.get("race/one") == data[stored.index(True)]

    async def test_list_has_the_blobs_below_a_folder(self, blobs: Blobs) -> None:
        """A folder is whole words: `a/b` is no folder of `a/bc`."""
        names = {"a/b/one", "a/b/two", "a/bc/one", "b", *(f"many/{n}" for n in range(300))}
        await asyncio.gather(*(blobs.put(name, name.encode()) for name in names))
        assert {blob.name async for blob in blobs.list("a/b")} == {"a/b/one", "a/b/two"}
        assert {blob.name async for blob in blobs.list("many")} == {f"many/{n}" for n in range(300)}
        listed = {blob.name: blob async for blob in blobs.list()}
        assert listed.keys() == names
        assert listed["a/bc/one"] == await blobs.find("a/bc/one")
        assert [blob async for blob in blobs.list("absent")] == []

    async def test_list_goes_on_while_blobs_come_and_go(self, blobs: Blobs) -> None:
        """A blob that stays from the beginning to the end is listed."""
        for number in range(20):
            await blobs.put(f"stays/{number}", b"x")
            await blobs.put(f"goes/{number}", b"x")
        seen = set()
        number = 0
        async for blob in blobs.list():
            seen.add(blob.name)
            await blobs.delete(f"goes/{number}")
            await blobs.put(f"comes/{number}", b"x")
            number += 1
        assert {f"stays/{number}" for number in range(20)} <= seen

    @pytest.mark.parametrize("name", HOSTILE)
    async def test_name_that_is_none_is_refused(self, blobs: Blobs, name: str) -> None:
        """A name never becomes another path."""
        with pytest.raises(Invalid):
            await blobs.put(name, b"x")
        for act in (blobs.get, blobs.find, blobs.delete):
            with pytest.raises(Invalid):
                await act(name)
        if name:
            with pytest.raises(Invalid):
                await anext(aiter(blobs.list(name)))

    async def test_folder_of_blobs_is_no_blob(self, blobs: Blobs) -> None:
        """Neither is what would lie below a blob."""
        await blobs.put("a/one", b"x")
        for name in ("a", "a/one/two"):
            assert await blobs.find(name) is None
            with pytest.raises(NotFound):
                await blobs.get(name)
            await blobs.delete(name)
        assert await blobs.get("a/one") == b"x"

    async def test_largest_blob_is_stored_and_a_larger_one_refused(self, blobs: Blobs) -> None:
        """By its size, before anything is sent."""
        largest = bytes(MAX_BLOB_BYTES)
        with pytest.raises(Invalid):
            await blobs.put("large", largest + b"x")
        assert await blobs.find("large") is None
        assert await blobs.put("large", largest)
        assert await blobs.get("large") == largest

    async def test_cancelled_put_leaves_a_whole_blob_or_none(self, blobs: Blobs) -> None:
        """And the name can be put again, or is there."""
        data = bytes(4 * 2**20)
        for number in range(10):
            async with asyncio.TaskGroup() as tasks:
                task = tasks.create_task(blobs.put(f"cut/{number}", data))
                for _ in range(number):
                    await asyncio.sleep(0)
                task.cancel()
            stored = await blobs.put(f"cut/{number}", data)
            assert stored in (True, False)
            assert await blobs.get(f"cut/{number}") == data
