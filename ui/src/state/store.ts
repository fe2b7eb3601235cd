/** A value many components read: the least that React's external stores need. */

import { useSyncExternalStore } from 'react';

export class Store<T> {
  #value: T;
  readonly #listeners = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  readonly get = (): T => this.#value;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  set(next: T | ((now: T) => T)): void {
    const value = next instanceof Function ? next(this.#value) : next;
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of this.#listeners) listener();
  }
}

export function useStore<T>(store: Pick<Store<T>, 'get' | 'subscribe'>): T {
  return useSyncExternalStore(store.subscribe, store.get, store.get);
}

/** The entries of these keys; the same record where it has no others. Pure. */
export function only<T>(
  record: Readonly<Record<string, T>>,
  keys: ReadonlySet<string>,
): Readonly<Record<string, T>> {
  const kept = Object.entries(record).filter(([key]) => keys.has(key));
  return kept.length === Object.keys(record).length ? record : Object.fromEntries(kept);
}
