/**
 * What the service worker says of a push, in English. It has no catalogue: the page keeps the
 * sentences in its own language (`state/attention/push`), at this place in this cache.
 */

export const KEPT_SENTENCES = 'atoll-sentences';

/** The only sentences that are shown, whatever a push says. */
export const SENTENCES = {
  needs_you: 'An agent needs you.',
  done: 'An agent is done.',
  failed: 'An agent failed.',
  setup_failed: 'Its set-up failed.',
  pushed: 'A pushed branch waits for you.',
  ends_soon: 'Its time is nearly over.',
  mentioned: 'Somebody mentions you.',
  other: 'Something is new.',
} as const;

export type Reason = keyof typeof SENTENCES;

/** The reason that a push gives, where it is one of these. */
export function reasonOf(told: unknown): Reason {
  return typeof told === 'string' && Object.hasOwn(SENTENCES, told) ? (told as Reason) : 'other';
}

/** The sentence in the language that was kept, else in English. `kept` may be anything. */
export function sentenceOf(reason: Reason, kept: unknown): string {
  const said =
    typeof kept === 'object' && kept !== null && Object.hasOwn(kept, reason)
      ? (kept as Readonly<Record<string, unknown>>)[reason]
      : null;
  return typeof said === 'string' ? said : SENTENCES[reason];
}
