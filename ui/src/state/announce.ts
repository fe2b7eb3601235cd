/** Short messages: spoken to screen readers, and shown for a moment when they matter. */

import { Store } from './store';

export interface Notice {
  readonly id: number;
  readonly tone: 'plain' | 'bad';
  readonly text: string;
  /** Something that can be done about it while it is shown. */
  readonly act?: NoticeAct | undefined;
}

export interface NoticeAct {
  readonly words: string;
  readonly run: () => void;
}

export const spoken = new Store('');
export const notices = new Store<readonly Notice[]>([]);
/** The dialogs over the page, the upper one last: it says what fails meanwhile. */
export const dialogs = new Store<readonly string[]>([]);

const SHOWN_MS = 6_000;
/** A notice with something to do stays longer. */
const ACT_SHOWN_MS = 12_000;
let next = 1;

/** Says something to screen readers only. */
export function announce(text: string): void {
  // The same words twice must be spoken twice; a no-break space makes them differ.
  spoken.set((now) => (now === text ? `${text}\u00a0` : text));
}

/** Shows a notice for some seconds; notices are spoken by their own live region. */
export function notify(text: string, tone: Notice['tone'] = 'plain', act?: NoticeAct): void {
  const notice = { id: next, tone, text, act };
  next += 1;
  notices.set((now) => [...now.slice(-2), notice]);
  const shownMs = act === undefined ? SHOWN_MS : ACT_SHOWN_MS;
  window.setTimeout(() => dismiss(notice.id), shownMs);
}

/** Does what the newest notice with something to do offers; false where there is none. */
export function actOnNotice(): boolean {
  const notice = notices.get().findLast(({ act }) => act !== undefined);
  if (notice?.act === undefined) return false;
  dismiss(notice.id);
  notice.act.run();
  return true;
}

export function dismiss(id: number): void {
  notices.set((now) => now.filter((notice) => notice.id !== id));
}

/** Shows what a failed call said. */
export function notifyFailure(what: string): (reason: unknown) => void {
  return (reason) => {
    notify(`${what}: ${reason instanceof Error ? reason.message : String(reason)}`, 'bad');
  };
}
