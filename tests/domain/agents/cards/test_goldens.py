"""Recordings of five agents become exactly the cards that were read and agreed on."""

import json

import pytest

from atoll.domain.agents.card import Draft
from atoll.domain.agents.card_log import CardLog
from tests.domain.agents.cards.replay import AT, NAMES, golden, said, story


@pytest.mark.parametrize("name", NAMES)
def test_recording_becomes_its_golden_cards(name: str) -> None:
    assert json.loads(json.dumps(story(name))) == json.loads(golden(name).read_text())


@pytest.mark.parametrize("name", NAMES)
def test_reader_that_joins_at_any_moment_ends_with_the_same_cards(name: str) -> None:
    drafts = [one for one in said(name) if isinstance(one, Draft)]
    for moment in range(len(drafts) + 1):
        log, seen = CardLog(), {}
        for draft in drafts[:moment]:
            log.put(draft, AT)
        seen.update({card.id: card for card in log.all()})
        at = log.seq
        for draft in drafts[moment:]:
            log.put(draft, AT)
        seen.update({card.id: card for card in log.since(at)})
        assert sorted(seen.values(), key=lambda card: card.n) == log.all()
