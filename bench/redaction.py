"""How fast output is searched for secrets, and what it delays; no sandbox.

Counted is the time of the processor: it depends less on what else runs.
"""

import random
import re
import string
import time
from pathlib import Path

from atoll.domain.redaction.lexicon import Lexicon
from atoll.domain.redaction.redactor import STAYS_FROM, TICK_SECONDS, Redactor
from bench.figures import Series, table, verdict

SECRETS = 100
STREAM_BYTES = 16 * 1024 * 1024
PIECE_BYTES = 16 * 1024
ROUNDS = 5
ASKED_MB_PER_SECOND = 100
ECHOES = 20_000


def redaction() -> None:
    """MB/s with 100 secrets in all forms, beside a plain copy of the same pieces."""
    lexicon = Lexicon(_secrets())
    plain = _text()
    colour = re.sub(rb" ", b"\x1b[32m \x1b[0m", plain)[:STREAM_BYTES]
    figures: dict[str, Series] = {}
    for name, stream in (
        ("plain text", plain),
        ("a colour change at every word", colour),
        ("1 KiB of key's beginnings in 16", _near_misses(plain)),
    ):
        series = figures[name] = Series(f"redaction: {name}", "MB/s")
        series.samples.extend(_pass(lexicon, stream) for _ in range(ROUNDS))
    table("redaction with 100 secrets in all their forms, one core", *figures.values())
    text = figures["plain text"]
    verdict("MB/s of plain text", text.median, ASKED_MB_PER_SECOND, at_least=True)
    _delays(lexicon, plain)


def _secrets() -> list[str]:
    chance = random.Random(1)
    letters = string.ascii_letters + string.digits + "-_"
    heads = ("sk-ant-api03-", "ghp_", "", "")
    return [heads[n % 4] + "".join(chance.choices(letters, k=40)) for n in range(SECRETS)]


def _text() -> bytes:
    """What a person would read: this project's own documents, as a terminal prints them."""
    documents = sorted(Path("docs").rglob("*.md"))
    words = b"".join(each.read_bytes() for each in documents).replace(b"\n", b"\r\n")
    return (words * (STREAM_BYTES // len(words) + 1))[:STREAM_BYTES]


def _near_misses(plain: bytes) -> bytes:
    begin = _secrets()[0][:20].encode()
    near = (begin + b"!\r\n") * (1024 // (len(begin) + 3))
    pieces = (plain[at : at + PIECE_BYTES - len(near)] for at in range(0, len(plain), PIECE_BYTES))
    return b"".join(piece + near for piece in pieces)


def _pass(lexicon: Lexicon, stream: bytes) -> float:
    redactor = Redactor(lexicon)
    pieces = [stream[at : at + PIECE_BYTES] for at in range(0, len(stream), PIECE_BYTES)]
    started = time.process_time()
    for piece in pieces:
        redactor.feed(piece)
    return len(stream) / 1e6 / (time.process_time() - started)


def _delays(lexicon: Lexicon, plain: bytes) -> None:
    """Ordinary text typed letter by letter: how many letters wait, and for how many ticks."""
    redactor = Redactor(lexicon)
    waited = stayed = 0
    for letter in plain[:ECHOES]:
        redactor.feed(bytes([letter]))
        if redactor.waiting:
            waited += 1
            redactor.tick()
        stayed += len(redactor.tick()) > STAYS_FROM
    print(
        f"  typed letter by letter, {100 * waited / ECHOES:.0f} % of the letters begin a form of "
        f"some secret and wait for a tick ({TICK_SECONDS * 1000:.0f} ms at most); "
        f"{stayed} waited longer"
    )
