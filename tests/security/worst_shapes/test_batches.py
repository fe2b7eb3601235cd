"""The largest bodies that the API parses, those of a host of workers, sent by somebody else: they
are not read. A host's own are still parsed on the loop, within 16 MiB."""

import itertools
import json
from collections.abc import Iterator
from functools import partial

from atoll.wire.words.workers import MAX_BATCH_BYTES, MAX_ITEMS
from tests.security.people.test_foreign_ids import _things
from tests.security.people.test_lease_tokens import OWN, TOKEN, lease_in
from tests.security.worst_shapes import shapes
from tests.security.worst_shapes.watch import answered, check, request, watched
from tests.surfaces.http.world import client_of, world

FEW = list(shapes.BODIES)[::5]
"""Some shapes of other bodies."""


def batches() -> Iterator[tuple[str, bytes]]:
    """Yield batches as large as they may be, of one line of an agent or of many."""
    room = MAX_BATCH_BYTES - 1000
    texts = {
        "letters": "a",
        "quotes": '\\\\\\"',
        "escapes": "\\\\u00e9",
        "emoji": "\U0001f469",
        "brackets": "[],",
        "lines": "\\\\n",
    }
    for name, piece in texts.items():
        of_bytes = len(piece.encode())
        yield f"a line of {name}", batch(['[\\"' + piece * (room // of_bytes) + '\\"]'])
        each = room // MAX_ITEMS // of_bytes - 60
        yield f"lines of {name}", batch(['[\\"' + piece * each + '\\"]'] * MAX_ITEMS)
    yield "a line of lists", batch(["[" + "[]," * (room // 3) + "[]]"])
    yield "a deep line", batch(["[" * room])


def batch(lines: list[str]) -> bytes:
    """Return a batch of lines, each spelled as text of JSON."""
    items = ",".join(f'{{"event":{{"method":"m","params":"{one}"}}}}' for one in lines)
    return f'{{"epoch":1,"first":1,"items":[{items}]}}'.encode()[:MAX_BATCH_BYTES]


async def test_batch_of_nobody_s_host_is_not_read() -> None:
    faults = []
    async with world() as atoll:
        things = await _things(atoll)
        await lease_in(things, TOKEN)
        async with watched() as watch:
            others = ((shape, shapes.body(shape, MAX_BATCH_BYTES - 1)) for shape in FEW)
            for shape, body in [*itertools.islice(batches(), 0, None, 4), *others]:
                data = request("POST", OWN, ["Authorization: Bearer token-of-ann"], body)
                faults += await check(watch, shape, partial(answered, atoll.url, data))
        async with client_of(atoll.url, "token-of-ann") as ann:
            assert (await ann.post(OWN, content=b"{")).status_code == 403
    assert faults == []


def test_batches_are_what_a_host_may_send() -> None:
    named = dict(batches())
    assert json.loads(named["a line of letters"])["items"]
    assert all(len(one) > MAX_BATCH_BYTES // 2 for one in named.values())
