/** The box for a task over the page, with what is known of the task; null while it is closed. */

import { go, route } from '../../state/route';
import { Store } from '../../state/store';
import type { TaskDraft } from './draft';

/** What the box begins with; the rest is what was chosen last. */
export type Known = Partial<TaskDraft>;

/** A sandbox that is there, in which one agent may begin in place of a sandbox of its own. */
export interface Home {
  /** The names of the agents that are installed in it. */
  readonly agents: readonly string[];
  /** Begins an agent in it; without words it waits for them there. */
  readonly begin: (agent: string, words: string) => void;
}

export const composing = new Store<Known | null>(null);

/** Opens the box over the present page; on home, whose first part it is, goes into it. */
export function compose(known: Known = {}): void {
  const { page, sandbox } = route.get();
  const home = page === 'sandboxes' && sandbox === null;
  const words = homeBox();
  if (home && words !== null && Object.keys(known).length === 0) focusOn(words);
  else composing.set(known);
}

/** Goes to the box at the top of home. */
export function beginTask(): void {
  go(null);
  // After home is drawn.
  window.setTimeout(() => {
    const words = homeBox();
    if (words !== null) focusOn(words);
  });
}

function homeBox(): HTMLElement | null {
  return document.querySelector('.home .composer textarea');
}

function focusOn(words: HTMLElement): void {
  words.focus({ preventScroll: true });
  words.closest('.composer')?.scrollIntoView({ block: 'nearest' });
}
