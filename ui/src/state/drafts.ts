/** Words that were begun and not sent: leaving a place loses none of them, closing the page does. */

import { useState } from 'react';

/** Beyond that the ones begun longest ago are dropped. */
const KEPT = 100;

const drafts = new Map<string, string>();

/** The words begun at this place, else `initial`, and how to change them. */
export function useDraft(place: string, initial = ''): [string, (text: string) => void] {
  const [text, setText] = useState(() => drafts.get(place) ?? initial);
  return [
    text,
    (next) => {
      keepDraft(place, next);
      setText(next);
    },
  ];
}

function keepDraft(place: string, text: string): void {
  drafts.delete(place);
  if (text !== '') drafts.set(place, text);
  const [oldest] = drafts.keys();
  if (drafts.size > KEPT && oldest !== undefined) drafts.delete(oldest);
}

/** At a logout: nobody reads what another person began. */
export function forgetDrafts(): void {
  drafts.clear();
}
