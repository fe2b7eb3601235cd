"""Search over names and texts: the query, how well a text fits it, and the order of hits. Pure.

A text fits when it holds every word of the query, wherever they stand. Letters of both cases are
alike.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from atoll.domain.errors import Invalid
from atoll.wire.words.overview import MAX_QUERY, HitKind

MAX_WORDS = 8
MAX_SNIPPET = 160
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Hit:
    """A found thing: its id, its name, the text around the words where they are not in the name,
    the sandbox it belongs to, and when it was made or happened. `score` orders hits, lowest
    first."""

    kind: HitKind
    id: str
    title: str
    text: str = ""
    sandbox_id: str | None = None
    at: datetime | None = None
    score: int = 0


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """The words to find: as they were typed, and folded."""

    typed: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def whole(self) -> str:
        """All of it, folded."""
        return " ".join(self.words)


def read_query(text: str) -> SearchQuery:
    """Return the query of a text. Raises `Invalid` when it has no words, or too many."""
    words = text.split()
    if not words or len(text) > MAX_QUERY or len(words) > MAX_WORDS or "\0" in text:
        raise Invalid(
            f"a search has 1 to {MAX_WORDS} words and at most {MAX_QUERY} characters", field="q"
        )
    return SearchQuery(tuple(words), tuple(word.lower() for word in words))


def score_of(query: SearchQuery, title: str, text: str = "") -> int | None:
    """Return how well a thing fits: 0 for its exact name, more for less, None for not at all."""
    name, rest = title.lower(), text.lower()
    if name == query.whole:
        return 0
    if name.startswith(query.whole):
        return 1
    if all(word in name for word in query.words):
        begins = any(part.startswith(query.words[0]) for part in _split_words(name))
        return 2 if begins else 3
    both = f"{name}\n{rest}"
    return 4 if all(word in both for word in query.words) else None


def snippet(query: SearchQuery, text: str) -> str:
    """Return the part of a text around the first word of the query that is in it, in one line."""
    plain = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    folded = plain.lower()
    # Folding may lengthen a text: the place is then near, not exact, which a snippet may be.
    places = [at for word in query.words if (at := folded.find(word)) >= 0]
    begin = max(0, min(places, default=0) - MAX_SNIPPET // 4)
    part = plain[begin : begin + MAX_SNIPPET]
    before = "…" if begin else ""
    return f"{before}{part}{'…' if begin + MAX_SNIPPET < len(plain) else ''}"


def rank_hits(hits: Iterable[Hit], limit: int) -> list[Hit]:
    """Return the best hits: those that fit best, then the newest."""
    newest = sorted(hits, key=lambda one: one.at or _NEVER, reverse=True)
    return sorted(newest, key=lambda one: one.score)[:limit]


def _split_words(name: str) -> list[str]:
    return "".join(one if one.isalnum() else " " for one in name).split()
