"""The cards of one agent in their order, the newest revision of each, within bounds.

Pure. A reader needs one number, the `seq` up to which it has everything. Readers have no queues
here, so one that comes late or stalls costs nothing.
"""

from collections import OrderedDict
from collections.abc import Callable

from atoll.domain.agents.card import (
    MAX_DATA_TEXT,
    MAX_OPTIONS,
    MAX_TEXT,
    MAX_TITLE,
    Card,
    CardState,
    Draft,
    Option,
    Value,
)
from atoll.wire.words.agents import MAX_CARDS

MAX_BYTES = 4 * 1024 * 1024
CARD_BYTES = 400
"""The bytes counted for a card besides its text."""

Clean = Callable[[str], str]
"""The function that cleans every text of a card; redaction is applied here."""


class CardLog:
    """The cards by id. The oldest are dropped beyond `max_cards` and `max_bytes`."""

    def __init__(
        self,
        *,
        clean: Clean = lambda text: text,
        max_cards: int = MAX_CARDS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._clean = clean
        self._max_cards, self._max_bytes = max_cards, max_bytes
        self._cards: OrderedDict[str, Card] = OrderedDict()
        self._changed: OrderedDict[str, None] = OrderedDict()
        self._bytes = 0
        self._made = 0
        self.seq = 0
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._cards)

    def get(self, card_id: str) -> Card | None:
        """Return a card, or None when it was dropped."""
        return self._cards.get(card_id)

    def all(self) -> list[Card]:
        """Return every card, in order."""
        return list(self._cards.values())

    def since(self, seq: int) -> list[Card]:
        """Return the cards whose newest revision came after `seq`, in their order."""
        cards: list[Card] = []
        for card_id in reversed(self._changed):
            card = self._cards[card_id]
            if card.seq <= seq:
                break
            cards.append(card)
        return sorted(cards, key=lambda card: card.n)

    def put(self, draft: Draft, at: str) -> Card | None:
        """Apply a draft; return the new revision, or None when nothing changed."""
        old = self._cards.get(draft.id)
        card = self._merge(draft, old, at)
        if card is None:
            return None
        self.seq = card.seq
        self._made = max(self._made, card.n)
        self._cards[card.id] = card
        self._changed.pop(card.id, None)
        self._changed[card.id] = None
        self._bytes += _size(card) - (_size(old) if old is not None else 0)
        self._drop_oldest()
        return card

    def _merge(self, draft: Draft, old: Card | None, at: str) -> Card | None:
        """Return the card with a draft merged into it, or None when nothing changed."""
        before = old if old is not None else _blank(draft, self._made + 1, at)
        text, cut = self._merge_text(draft, before)
        fresh = Card(
            seq=before.seq,
            n=before.n,
            id=before.id,
            rev=before.rev,
            kind=draft.kind,
            state=before.state if draft.state is None else draft.state,
            at=before.at,
            title=before.title if draft.title is None else self._clean(draft.title)[:MAX_TITLE],
            text=text,
            data={**before.data, **self._clean_data(draft.data)},
            options=before.options if draft.options is None else self._options(draft.options),
            cut=cut,
        )
        if fresh == old:
            return None
        return _next_revision(fresh, self.seq + 1)

    def _merge_text(self, draft: Draft, before: Card) -> tuple[str, bool]:
        """Return the text of the card after a draft, and whether it was cut."""
        if draft.text is None:
            return before.text, before.cut
        if not draft.append:
            text = self._clean(draft.text)
            return text[:MAX_TEXT], len(text) > MAX_TEXT
        if before.cut:
            return before.text, True
        # The whole text is cleaned, not the piece: a secret may be split over two pieces.
        text = self._clean(before.text + draft.text)
        return text[:MAX_TEXT], len(text) > MAX_TEXT

    def _clean_data(self, data: dict[str, Value] | None) -> dict[str, Value]:
        return (
            {} if data is None else {key: self._clean_value(value) for key, value in data.items()}
        )

    def _clean_value(self, value: Value) -> Value:
        """Return a value without secrets, cut to the log's limits."""
        match value:
            case str():
                return self._clean(value)[:MAX_DATA_TEXT]
            case list():
                return [self._clean_value(item) for item in value[:MAX_CARDS]]
            case dict():
                return {self._clean(key): self._clean_value(item) for key, item in value.items()}
            case bool() | int() | float() | None:  # pragma: no branch - all
                return value

    def _options(self, options: tuple[Option, ...]) -> tuple[Option, ...]:
        return tuple(
            Option(option.id[:MAX_TITLE], self._clean(option.label)[:MAX_TITLE], option.effect)
            for option in options[:MAX_OPTIONS]
        )

    def _drop_oldest(self) -> None:
        """Drop the oldest cards while the log exceeds its limits."""
        while len(self._cards) > self._max_cards or (
            self._bytes > self._max_bytes and len(self._cards) > 1
        ):
            card_id, card = self._cards.popitem(last=False)
            del self._changed[card_id]
            self._bytes -= _size(card)
            self.dropped += 1


def _blank(draft: Draft, n: int, at: str) -> Card:
    return Card(seq=0, n=n, id=draft.id, rev=0, kind=draft.kind, state=CardState.RUNNING, at=at)


def _next_revision(card: Card, seq: int) -> Card:
    return Card(
        seq=seq,
        n=card.n,
        id=card.id,
        rev=card.rev + 1,
        kind=card.kind,
        state=card.state,
        at=card.at,
        title=card.title,
        text=card.text,
        data=card.data,
        options=card.options,
        cut=card.cut,
    )


def _size(card: Card) -> int:
    """Return the approximate size of a card: characters and a constant."""
    return CARD_BYTES + len(card.id) + len(card.title) + len(card.text) + _weight(card.data)


def _weight(value: Value) -> int:
    match value:
        case str():
            return len(value)
        case list():
            return sum(_weight(item) for item in value) + 8 * len(value)
        case dict():
            return sum(len(key) + _weight(item) for key, item in value.items())
        case bool() | int() | float() | None:  # pragma: no branch - the cases are all
            return 8
