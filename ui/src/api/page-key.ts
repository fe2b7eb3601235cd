/**
 * What this page sends beside its cookie, which script cannot read and every port of the host is
 * sent: without a key a cookie is worth nothing. Kept in the origin's own storage, so that other
 * tabs and a restart of the browser have it, and no page of another port.
 */

export type KeyOf = 'person' | 'guest';

const NAMES: Readonly<Record<KeyOf, string>> = {
  person: 'atoll.page-key',
  guest: 'atoll.guest-key',
};
const HEADER = 'Atoll-Page-Key';
/** The server takes the first; the others carry the keys. */
const PROTOCOL = 'atoll.page';
const KEY_PROTOCOL = 'atoll.key.';
/** Where the storage is closed to us (a private window may do that), for this tab alone. */
const inMemory = new Map<KeyOf, string>();

/** Keeps the key of a login; null forgets it. */
export function keepKey(of: KeyOf, key: string | null): void {
  if (key === null) inMemory.delete(of);
  else inMemory.set(of, key);
  try {
    if (key === null) localStorage.removeItem(NAMES[of]);
    else localStorage.setItem(NAMES[of], key);
  } catch {
    // Kept in memory.
  }
}

/** The headers of a call. */
export function keyHeaders(): Readonly<Record<string, string>> {
  const held = keys();
  return held.length === 0 ? {} : { [HEADER]: held.join(', ') };
}

/** The subprotocols of a WebSocket, which takes no headers. */
export function keyProtocols(): string[] {
  const held = keys();
  return held.length === 0 ? [] : [PROTOCOL, ...held.map((key) => KEY_PROTOCOL + key)];
}

function keys(): string[] {
  return (['person', 'guest'] as const).map(keyOf).filter((key) => key !== null);
}

function keyOf(of: KeyOf): string | null {
  try {
    // Another tab may have logged in anew meanwhile.
    return localStorage.getItem(NAMES[of]) ?? inMemory.get(of) ?? null;
  } catch {
    return inMemory.get(of) ?? null;
  }
}
