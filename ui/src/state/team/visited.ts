/**
 * Sandboxes of others that a dashboard opens to this person.
 *
 * No list names them and no event of theirs is heard, so they are asked for again and again while
 * they are looked at.
 */

import { Problem } from '../../api/call';
import { api } from '../../api/client';
import type { Sandbox } from '../../api/types';
import { sandboxes } from '../sandboxes';
import { Store, useStore } from '../store';

const AGAIN_MS = 4_000;

/** By id; null for one that is gone, or not theirs to see. */
export const visited = new Store<ReadonlyMap<string, Sandbox | null>>(new Map());

/** Keeps these fresh until the returned function is called; those of the list keep themselves. */
export function visit(ids: readonly string[]): () => void {
  const look = (): void => {
    if (document.visibilityState === 'hidden') return;
    for (const id of foreign(ids, sandboxes.get())) void fetchOne(id);
  };
  look();
  const stop = sandboxes.subscribe(() => {
    // Only what nobody has asked for yet: the list changes often.
    for (const id of foreign(ids, sandboxes.get())) if (!visited.get().has(id)) void fetchOne(id);
  });
  const timer = window.setInterval(look, AGAIN_MS);
  return () => {
    stop();
    window.clearInterval(timer);
  };
}

/** Those that the list does not name; none before there is a list. Pure. */
export function foreign(
  ids: readonly string[],
  list: readonly Pick<Sandbox, 'sandbox_id'>[] | null,
): readonly string[] {
  if (list === null) return [];
  const known = new Set(list.map((one) => one.sandbox_id));
  return ids.filter((id) => !known.has(id));
}

async function fetchOne(id: string): Promise<void> {
  try {
    keep(id, await api.sandbox(id));
  } catch (reason) {
    // Without an answer it stays as it was; only the server's word makes it gone.
    if (reason instanceof Problem && reason.status === 404) keep(id, null);
  }
}

function keep(id: string, sandbox: Sandbox | null): void {
  visited.set((now) => new Map(now).set(id, sandbox));
}

/** A sandbox of the list, or one that is visited; null for one that is gone, undefined for one that
 *  is not known yet. */
export function useKnown(id: string | null): Sandbox | null | undefined {
  return knownIn(useStore(sandboxes), useStore(visited), id);
}

/** The same, as it is at this moment. */
export function knownOf(id: string | null): Sandbox | null | undefined {
  return knownIn(sandboxes.get(), visited.get(), id);
}

function knownIn(
  list: readonly Sandbox[] | null,
  others: ReadonlyMap<string, Sandbox | null>,
  id: string | null,
): Sandbox | null | undefined {
  if (id === null) return null;
  return list?.find((one) => one.sandbox_id === id) ?? others.get(id);
}
