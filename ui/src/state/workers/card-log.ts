/**
 * Cards in their order, the newest revision of each, within bounds. Pure.
 *
 * It follows `domain/agents/card_log.py`: what a worker's stream says becomes the same cards that a
 * runtime makes of an agent.
 */

import type { Card, CardOption } from '../../api/types';

/** A card, or what changed of one: what is left out stays. `data` is merged over what was there. */
export interface Draft {
  readonly id: string;
  readonly kind: string;
  readonly state?: Card['state'];
  readonly title?: string;
  readonly text?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly options?: readonly CardOption[];
  /** Whether `text` goes on with the text that is there. */
  readonly append?: boolean;
}

const MAX_TEXT = 64 * 1024;
const MAX_TITLE = 300;
const MAX_OPTIONS = 16;
const MAX_CARDS = 2_000;
const MAX_SIZE = 4 * 1024 * 1024;
/** Counted for a card besides its words. */
const CARD_SIZE = 400;

export class CardLog {
  readonly #cards = new Map<string, Card>();
  #size = 0;
  #made = 0;
  #dropped = 0;

  /** Cards that were there, and were more than fit. */
  get dropped(): number {
    return this.#dropped;
  }

  get(id: string): Card | undefined {
    return this.#cards.get(id);
  }

  all(): readonly Card[] {
    return [...this.#cards.values()];
  }

  put(draft: Draft, at: string): void {
    const before = this.#cards.get(draft.id);
    if (before === undefined) this.#made += 1;
    const card = merged(draft, before ?? blank(draft, this.#made, at));
    this.#cards.set(card.id, card);
    this.#size += sizeOf(card) - (before === undefined ? 0 : sizeOf(before));
    this.#bound();
  }

  #bound(): void {
    for (const [id, card] of this.#cards) {
      if (this.#cards.size <= MAX_CARDS && (this.#size <= MAX_SIZE || this.#cards.size <= 1))
        return;
      this.#cards.delete(id);
      this.#size -= sizeOf(card);
      this.#dropped += 1;
    }
  }
}

function blank({ id, kind }: Draft, n: number, at: string): Card {
  return {
    ...{ n, id, rev: 0, kind, state: 'running', at, title: '', text: '' },
    ...{ data: {}, options: [], cut: false },
  };
}

function merged(draft: Draft, before: Card): Card {
  const { kind, state = before.state, title = before.title, options = before.options } = draft;
  return {
    ...before,
    ...textOf(draft, before),
    rev: before.rev + 1,
    kind,
    state,
    title: title.slice(0, MAX_TITLE),
    data: { ...before.data, ...draft.data },
    options: options.slice(0, MAX_OPTIONS),
  };
}

function textOf(draft: Draft, before: Card): Pick<Card, 'text' | 'cut'> {
  if (draft.text === undefined || (draft.append === true && before.cut)) return before;
  const text = draft.append === true ? before.text + draft.text : draft.text;
  return { text: text.slice(0, MAX_TEXT), cut: text.length > MAX_TEXT };
}

function sizeOf({ title, text, data }: Card): number {
  const words = Object.values(data).map((one) => (typeof one === 'string' ? one.length : 8));
  return CARD_SIZE + title.length + text.length + words.reduce((sum, one) => sum + one, 0);
}
