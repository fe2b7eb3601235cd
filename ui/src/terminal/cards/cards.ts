/** The cards of one terminal or machine, put together from pages of upserts. Pure. */

import type { Agent, Card, CardsPage } from '../../api/types';
import { fieldsOf, parseJson, whole, word } from '../../api/fields';

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

/**
 * The cards to show. While a question can be answered here, what else says that somebody is asked
 * is left out: the notice of its hook, the tool's own card, and a turn at work.
 */
export function shownCards(cards: readonly Card[]): readonly Card[] {
  const waits = ({ state, data }: Card): boolean =>
    state === 'pending' && data['answerable'] === true;
  if (!cards.some(waits)) return cards;
  const echoes = ['status', 'question', 'turn'];
  const open = ({ state }: Card): boolean => state === 'pending' || state === 'running';
  return cards.filter((card) => waits(card) || !open(card) || !echoes.includes(card.kind));
}

/** Reads a text frame; null when it is none of ours. Cards that are broken are left out. */
export function readPage(text: string): CardsPage | null {
  const fields = fieldsOf(parseJson(text));
  if (fields?.['type'] !== 'cards' || !Array.isArray(fields['cards'])) return null;
  return {
    cards: fields['cards'].map(readCard).filter((card) => card !== null),
    seq: whole(fields['seq']),
    reset: fields['reset'] === true,
    dropped: whole(fields['dropped']),
    agent: fieldsOf(fields['agent']) as Agent | null,
  };
}

function readCard(value: unknown): Card | null {
  const fields = fieldsOf(value);
  if (typeof fields?.['id'] !== 'string') return null;
  const { options } = fields;
  return {
    n: whole(fields['n']),
    id: fields['id'],
    rev: whole(fields['rev']),
    kind: word(fields['kind']),
    state: STATES.find((state) => state === fields['state']) ?? 'done',
    at: word(fields['at']),
    title: word(fields['title']),
    text: word(fields['text']),
    data: fieldsOf(fields['data']) ?? {},
    options: Array.isArray(options) ? options.map(readOption).filter(({ id }) => id !== '') : [],
    cut: fields['cut'] === true,
  };
}

function readOption(value: unknown): Card['options'][number] {
  const { id, label, effect } = fieldsOf(value) ?? {};
  return { id: word(id), label: word(label) || word(id), effect: word(effect) };
}
