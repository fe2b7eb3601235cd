/** The cards of one terminal or machine, put together from pages of upserts. Pure. */

import type { Agent, Card, CardsPage } from '../api/types';

export interface CardList {
  /** In their order, each in its newest revision. */
  readonly cards: readonly Card[];
  /** What to ask for next. */
  readonly seq: number;
  readonly dropped: number;
  readonly agent: Agent | null;
}

export const NO_CARDS: CardList = { cards: [], seq: 0, dropped: 0, agent: null };

const STATES = ['pending', 'running', 'done', 'failed', 'declined'] as const;

/** What is there after a page; an older revision never replaces a newer one. */
export function withPage(list: CardList, page: CardsPage): CardList {
  const byId = new Map(page.reset ? [] : list.cards.map((card) => [card.id, card]));
  for (const card of page.cards) {
    const before = byId.get(card.id);
    if (before === undefined || before.rev <= card.rev) byId.set(card.id, card);
  }
  const cards = [...byId.values()].sort((a, b) => a.n - b.n);
  return { cards, seq: page.seq, dropped: page.dropped, agent: page.agent };
}

/** Reads a text frame; null when it is none of ours. Cards that are broken are left out. */
export function readPage(text: string): CardsPage | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value) || value['type'] !== 'cards' || !Array.isArray(value['cards'])) return null;
  return {
    cards: value['cards'].map(readCard).filter((card) => card !== null),
    seq: number(value['seq']),
    reset: value['reset'] === true,
    dropped: number(value['dropped']),
    agent: isRecord(value['agent']) ? (value['agent'] as unknown as Agent) : null,
  };
}

function readCard(value: unknown): Card | null {
  if (!isRecord(value) || typeof value['id'] !== 'string') return null;
  const options = Array.isArray(value['options']) ? value['options'].filter(isRecord) : [];
  return {
    n: number(value['n']),
    id: value['id'],
    rev: number(value['rev']),
    kind: words(value['kind']),
    state: STATES.find((state) => state === value['state']) ?? 'done',
    at: words(value['at']),
    title: words(value['title']),
    text: words(value['text']),
    data: isRecord(value['data']) ? value['data'] : {},
    options: options.map((option) => ({
      id: words(option['id']),
      label: words(option['label']) || words(option['id']),
      effect: words(option['effect']),
    })),
    cut: value['cut'] === true,
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function number(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

function words(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
