/** The box for a task over the page, with what is known of the task; null while it is closed. */

import { route } from '../../state/route';
import { Store } from '../../state/store';
import type { TaskDraft } from './draft';

/** What the box begins with; the rest is what was chosen last. */
export type Known = Partial<TaskDraft>;

export const composing = new Store<Known | null>(null);

/** Opens the box over the present page; on home, whose first part it is, goes into it. */
export function compose(known: Known = {}): void {
  const { page, sandbox } = route.get();
  const home = page === 'sandboxes' && sandbox === null;
  const words = document.querySelector<HTMLElement>('.home .composer textarea');
  if (home && words !== null && Object.keys(known).length === 0) focusOn(words);
  else composing.set(known);
}

export function focusOn(words: HTMLElement): void {
  words.focus({ preventScroll: true });
  words.closest('.composer')?.scrollIntoView({ block: 'nearest' });
}
