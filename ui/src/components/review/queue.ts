/** The agents that get the review's threads when their turn ends, by sandbox.
 *
 * The browser keeps who that is, so that it outlasts a reload: an open page sends them.
 */

import { Store } from '../../state/store';

const PREFIX = 'atoll.sends.';

/** The id of an agent by sandbox. */
export const queued = new Store<Readonly<Record<string, string>>>({});

/** Reads what the browser kept; another tab may have changed it. */
export function restoreQueue(): void {
  const found: Record<string, string> = {};
  try {
    for (let i = 0; i < localStorage.length; i += 1) {
      const key = localStorage.key(i) ?? '';
      const agent = key.startsWith(PREFIX) ? localStorage.getItem(key) : null;
      if (agent !== null) found[key.slice(PREFIX.length)] = agent;
    }
  } catch {
    return;
  }
  queued.set(found);
}

/** Whether a key of the browser's storage is about the queue; null stands for all keys. */
export const isQueueKey = (key: string | null): boolean => key === null || key.startsWith(PREFIX);

/** Keeps the threads for the end of an agent's turn; null takes that back. */
export function queueThreads(sandbox: string, agent: string | null): void {
  try {
    if (agent === null) localStorage.removeItem(PREFIX + sandbox);
    else localStorage.setItem(PREFIX + sandbox, agent);
  } catch {
    // Without storage it lasts as long as the page.
  }
  queued.set((now) => {
    const others = Object.entries(now).filter(([id]) => id !== sandbox);
    return Object.fromEntries(agent === null ? others : [...others, [sandbox, agent]]);
  });
}
