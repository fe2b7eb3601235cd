from atoll.domain.agents.card import MAX_TEXT, CardKind, CardState, Draft, Option, Value
from atoll.domain.agents.card_log import CardLog
from tests.domain.agents.cards.replay import AT


def text(card_id: str, words: str, *, append: bool = False) -> Draft:
    return Draft(card_id, CardKind.TEXT, CardState.DONE, text=words, append=append)


def test_put_of_the_same_again_is_no_revision() -> None:
    log = CardLog()
    first = log.put(text("a", "one"), AT)
    assert first is not None and (first.seq, first.n, first.rev) == (1, 1, 1)
    assert log.put(text("a", "one"), AT) is None
    second = log.put(text("a", " two", append=True), AT)
    assert second is not None and (second.seq, second.rev, second.text) == (2, 2, "one two")


def test_since_gives_each_changed_card_once_in_its_order() -> None:
    log = CardLog()
    for name in "abc":
        log.put(text(name, "1"), AT)
    log.put(text("c", "2"), AT)
    log.put(text("a", "2"), AT)
    assert [(card.id, card.rev) for card in log.since(2)] == [("a", 2), ("c", 2)]
    assert log.since(log.seq) == []
    assert [card.id for card in log.since(0)] == ["a", "b", "c"]


def test_log_beyond_its_bounds_loses_the_oldest_and_counts_them() -> None:
    log = CardLog(max_cards=3)
    for number in range(10):
        log.put(text(str(number), "x"), AT)
    assert ([card.id for card in log.all()], log.dropped) == (["7", "8", "9"], 7)
    big = CardLog(max_bytes=10 * MAX_TEXT)
    for number in range(50):
        big.put(text(str(number), "x" * MAX_TEXT), AT)
    assert 8 <= len(big) <= 10
    assert [card.n for card in big.since(0)] == [card.n for card in big.all()]


def test_text_beyond_its_bound_is_cut_and_says_so() -> None:
    log = CardLog()
    card = log.put(text("a", "x" * (MAX_TEXT + 1)), AT)
    assert card is not None and (len(card.text), card.cut) == (MAX_TEXT, True)
    assert log.put(text("a", "more", append=True), AT) is None


def test_every_text_of_a_card_passes_the_one_place_where_secrets_go() -> None:
    log = CardLog(clean=lambda words: words.replace("s3cret", "***"))
    draft = Draft(
        "a", CardKind.APPROVAL, CardState.PENDING, title="s3cret", text="a s3",
        data={"input": "s3cret", "deep": [{"s3cret": "s3cret"}]},
        options=(Option("ok", "s3cret"),),
    )  # fmt: skip
    log.put(draft, AT)
    card = log.put(text("a", "cret b", append=True), AT)
    assert card is not None
    assert "s3cret" not in repr(card)
    assert card.text == "a *** b"


def test_data_counts_with_all_that_lies_in_it() -> None:
    log = CardLog(max_bytes=20_000)
    for number in range(10):
        data: dict[str, Value] = {"paths": ["x" * 1000] * 5, "count": 5, "deep": {"a": None}}
        log.put(Draft(str(number), CardKind.DIFF, CardState.DONE, data=data), AT)
    assert [card.id for card in log.all()] == ["7", "8", "9"]
    kept = log.get("9")
    assert kept is not None and kept.data["count"] == 5
    assert log.get("0") is None


def test_newest_card_stays_however_large_it_is() -> None:
    log = CardLog(max_bytes=1000)
    log.put(text("a", "x"), AT)
    log.put(text("b", "x" * 5000), AT)
    assert [card.id for card in log.all()] == ["b"]
