import { describe, expect, it } from 'vitest';

import type { Card, CardsPage } from '../../api/types';
import { NO_CARDS, readPage, shownCards, withPage } from './cards';

function card(id: string, n: number, rev = 1, more: Partial<Card> = {}): Card {
  return {
    n,
    id,
    rev,
    kind: 'text',
    state: 'done',
    at: '',
    title: id,
    text: '',
    data: {},
    options: [],
    cut: false,
    ...more,
  };
}

function page(cards: Card[], more: Partial<CardsPage> = {}): CardsPage {
  return { cards, seq: 1, reset: false, dropped: 0, agent: null, ...more };
}

describe('cards', () => {
  it('keep their place when a later revision comes', () => {
    const first = withPage(NO_CARDS, page([card('a', 1), card('b', 2)], { reset: true }));
    const next = withPage(first, page([card('a', 1, 2, { text: 'new' })], { seq: 3 }));
    expect(next.cards.map(({ id, text }) => [id, text])).toEqual([
      ['a', 'new'],
      ['b', ''],
    ]);
    expect(next.seq).toBe(3);
  });

  it('never go back to an older revision', () => {
    const now = withPage(NO_CARDS, page([card('a', 1, 5, { text: 'newest' })]));
    expect(withPage(now, page([card('a', 1, 4)])).cards[0]?.text).toBe('newest');
  });

  it('are dropped by a reset', () => {
    const now = withPage(NO_CARDS, page([card('a', 1)]));
    expect(withPage(now, page([card('b', 2)], { reset: true })).cards.map(({ id }) => id)).toEqual([
      'b',
    ]);
  });

  it('are read from whatever a frame holds', () => {
    const odd = { type: 'cards', cards: [{ id: 'x', options: [3, { id: 'y' }] }, 7, { id: 3 }] };
    const read = readPage(JSON.stringify(odd));
    expect(read?.cards).toHaveLength(1);
    expect(read?.cards[0]?.options).toEqual([{ id: 'y', label: 'y', effect: '' }]);
    expect(read?.cards[0]?.state).toBe('done');
    expect(readPage('nonsense')).toBeNull();
    expect(readPage('{"type":"start"}')).toBeNull();
  });
});

describe('shown cards', () => {
  const waits = card('asks', 4, 1, {
    kind: 'question',
    state: 'pending',
    data: { answerable: true },
  });
  const all = [
    card('turn', 1, 1, { kind: 'turn', state: 'running' }),
    card('before', 2, 1, { kind: 'question' }),
    card('tool', 3, 1, { kind: 'question', state: 'running' }),
    waits,
    card('hook', 5, 1, { kind: 'status', state: 'pending' }),
    card('runs', 6, 1, { kind: 'bash', state: 'running' }),
  ];

  it('say once that somebody is asked', () => {
    expect(shownCards(all).map(({ id }) => id)).toEqual(['before', 'asks', 'runs']);
  });

  it('are all, where the question is answered at the terminal', () => {
    const there = all.map((one) => (one === waits ? { ...one, data: {} } : one));
    expect(shownCards(there)).toEqual(there);
  });
});
