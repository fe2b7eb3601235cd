/**
 * The name this tab attaches under. It survives a reload, so that a driver stays the
 * driver; a duplicated tab, which copies the storage, gets one of its own.
 */

const KEY = 'atoll.client';

let mine: Promise<string> | null = null;

/** The same answer for the life of the page. */
export function clientId(): Promise<string> {
  mine ??= claim();
  return mine;
}

async function claim(): Promise<string> {
  const stored = sessionStorage.getItem(KEY);
  if (stored !== null && (await lock(stored))) return stored;
  const made = crypto
    .getRandomValues(new Uint8Array(12))
    .reduce((text, byte) => text + byte.toString(16).padStart(2, '0'), 'c_');
  sessionStorage.setItem(KEY, made);
  await lock(made);
  return made;
}

/** Holds the name for as long as this page lives; false when another page has it. */
function lock(id: string): Promise<boolean> {
  // Locks are there in secure contexts only (https, or loopback).
  const locks = (navigator as { locks?: LockManager }).locks;
  if (locks === undefined) return Promise.resolve(true);
  return new Promise((resolve) => {
    locks
      .request(`atoll.client.${id}`, { ifAvailable: true }, (granted) => {
        resolve(granted !== null);
        return granted === null ? undefined : new Promise<never>(() => undefined);
      })
      .catch(() => resolve(true));
  });
}
