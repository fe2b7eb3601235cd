"""Frames for a dashboard in their worst shapes, at the largest size."""

from collections.abc import Iterator

from atoll.wire.crdt.frames import (
    AwarenessUpdate,
    Presence,
    SyncStep1,
    SyncStep2,
    SyncUpdate,
    spell_frame,
)
from tests.security.worst_shapes.watch import frame
from tests.wire.crdt.spelled import MAP, TEXT, Part, deleted, shared, spell_update, string, values

ITEM = "itm_0000000000000001"
AUTHOR = 1 << 40
LENGTH = 4000


def begun() -> bytes:
    """An update with one note, whose text begins at clock 7."""
    fields = [("kind", b"\x77\x04note"), *((name, b"\x7d\x01") for name in ("x", "y", "w", "h"))]
    return spell_update(
        (
            AUTHOR,
            0,
            [
                shared(MAP, parent="items", key=ITEM),
                *(values(spelled, parent=(AUTHOR, 0), key=name) for name, spelled in fields),
                shared(TEXT, parent=(AUTHOR, 0), key="text"),
                string("x" * LENGTH, parent=(AUTHOR, 6)),
            ],
        )
    )


def at(index: int) -> tuple[int, int]:
    return AUTHOR, 7 + index % LENGTH


def updates() -> Iterator[tuple[str, bytes]]:
    """Yield updates of that note."""

    def apart(parts: list[Part]) -> bytes:
        return spell_update(*((1 + n, 0, [one]) for n, one in enumerate(parts)))

    rights = [string("a", origin=at(0), right=at(1 + n)) for n in range(LENGTH - 1)]
    lefts = [string("a", origin=at(n), right=at(LENGTH - 1)) for n in range(LENGTH - 1)]
    yield "one left, many browsers", apart(rights)
    yield "one left, one browser", spell_update((1, 0, rights * 2))
    yield "one right, many browsers", apart(lefts)
    yield "one right, one browser", spell_update((1, 0, lefts * 2))
    chain = [string("a", origin=at(LENGTH - 1) if n == 0 else (1, n - 1)) for n in range(24_000)]
    yield "a chain", spell_update((1, 0, chain))
    keys = [values(b"\x78", parent=(AUTHOR, 0), key="z") for _ in range(12_000)]
    yield "one field", spell_update((1, 0, keys))
    yield (
        "deletions",
        spell_update(gone=tuple((AUTHOR, 7 + 2 * n % LENGTH, 1) for n in range(2000))),
    )
    yield "one deletion", spell_update(gone=((AUTHOR, 7, 1),) * 30_000)
    yield "deleted parts", spell_update((1, 0, [deleted(1, origin=at(0))] * 24_000))
    deep = [shared(MAP, parent="items", key="itm_0000000000000003")]
    deep += [shared(MAP, parent=(9, depth), key="a") for depth in range(20_000)]
    yield "deep types", spell_update((9, 0, deep))
    yield (
        "deep values",
        spell_update(
            (9, 0, [values(b"\x75\x01" * 120_000 + b"\x78", parent=(AUTHOR, 0), key="a")])
        ),
    )
    wide = b"\x75\xff\xff\x03" + b"\x78" * 65_535
    yield "wide values", spell_update((9, 0, [values(wide, parent=(AUTHOR, 0), key="a")]))


def frames() -> Iterator[tuple[str, bytes]]:
    """Yield frames of a client that may look only, too."""
    for name, update in updates():
        yield name, frame(2, spell_frame(SyncUpdate(update)))
        yield f"{name}, as an answer", frame(2, spell_frame(SyncStep2(update)))
    clocks = dict.fromkeys(range(49000), 1)
    yield "a state vector", frame(2, spell_frame(SyncStep1(clocks))) * 3
    yield "state vectors", frame(2, spell_frame(SyncStep1({}))) * 8
    many = tuple(Presence(n, 1, '{"a":1}') for n in range(999))
    yield "many present", frame(2, spell_frame(AwarenessUpdate(many))) * 4
    again = tuple(Presence(5, n, '{"a":[' + "[]," * 60 + "1]}") for n in range(900))
    yield "one present, again", frame(2, spell_frame(AwarenessUpdate(again)))
    deep = Presence(5, 9000, "[" * 200_000)
    yield "a deep presence", frame(2, spell_frame(AwarenessUpdate((deep,))))
    yield "no frame", frame(2, b"\xff" * 200_000)
    yield "a text", frame(1, b"[" * 200_000)
    yield "tiny frames", frame(2, b"\x03") * 200
