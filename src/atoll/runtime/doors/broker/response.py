"""The way back in at the broker door: an answer's head judged, and made ready to be sent.

Answers of one kind differ in their values and not in their names. What is decided about one is
remembered by its status, its names and the few values that decide, for as long as its way out.
"""

from dataclasses import dataclass, field

import msgspec

from atoll.domain.broker.answer import DECIDING, SWITCHING, judge_answer
from atoll.domain.broker.passage import Headers, Passage, Refusal

KEPT_BACKS = 8
KEPT_BACK_BYTES = 4 * 1024
_DECIDING = frozenset(name.encode() for name in DECIDING)
_UPGRADE: Headers = (("Connection", "Upgrade"), ("Upgrade", "websocket"))


class Told(msgspec.Struct, frozen=True):
    """An answer's head as it came: `names` and `values` by their places. `http11` says whether
    the client reads chunks."""

    status: int
    reason: bytes
    names: tuple[bytes, ...]
    values: list[bytes]
    http11: bool


@dataclass(frozen=True, slots=True)
class Back:
    """What answers have in common that are judged alike: the head, but for the values that each
    brings; and how its body ends, in chunks or with the connection."""

    opening: bytes
    passed: tuple[tuple[int, bytes], ...]
    ending: bytes
    chunked: bool
    close: bool

    def head(self, told: Told) -> bytes:
        """The head of this answer as it goes in."""
        values = told.values
        lines = [self.opening, *[begun + values[at] for at, begun in self.passed], self.ending]
        return b"".join(lines)


@dataclass(frozen=True, slots=True)
class Backs:
    """The ways back of one passage, asked for with `method`."""

    passage: Passage = field(repr=False)
    method: str
    _deciding: dict[tuple[bytes, ...], tuple[int, ...]] = field(default_factory=dict)
    _kept: dict[tuple[object, ...], Back] = field(default_factory=dict)

    def judge(self, told: Told) -> Back | Refusal:
        """How an answer goes in, or why it does not."""
        places = self._deciding.get(told.names)
        if places is None:
            lows = [name.lower() for name in told.names]
            places = tuple([at for at, low in enumerate(lows) if low in _DECIDING])
        deciding = [told.values[at] for at in places]
        key = (told.status, told.reason, told.http11, told.names, *deciding)
        back = self._kept.get(key)
        if back is not None:
            return back
        judged = self._judged(told)
        size = len(told.reason) + sum(map(len, told.names)) + sum(map(len, deciding))
        if isinstance(judged, Back) and size <= KEPT_BACK_BYTES:
            if len(self._kept) >= KEPT_BACKS:
                self._kept.clear()
                self._deciding.clear()
            self._deciding[told.names], self._kept[key] = places, judged
        return judged

    def _judged(self, told: Told) -> Back | Refusal:
        names = [name.decode("latin-1") for name in told.names]
        headers = tuple(zip(names, [one.decode("latin-1") for one in told.values], strict=True))
        verdict = judge_answer(self.passage, told.status, headers)
        if isinstance(verdict, Refusal):
            return verdict
        passed, ours = verdict
        sized = any(names[at].lower() == "content-length" for at in passed)
        unbodied = told.status in (204, 304) or told.status < 200 or self.method == "HEAD"
        chunked = not (sized or unbodied) and told.http11
        close = not (sized or unbodied or chunked)
        if chunked:
            ours += (("Transfer-Encoding", "chunked"),)
        if close:
            ours += (("Connection", "close"),)
        if told.status == SWITCHING:
            ours += _UPGRADE
        reason = bytes(each for each in told.reason if 0x20 <= each <= 0x7E)
        return Back(
            opening=b"HTTP/1.1 %d %b" % (told.status, reason),
            passed=tuple([(at, b"\r\n%b: " % told.names[at]) for at in passed]),
            ending="\r\n".join(["", *map(": ".join, ours), "", ""]).encode("latin-1"),
            chunked=chunked,
            close=close,
        )
