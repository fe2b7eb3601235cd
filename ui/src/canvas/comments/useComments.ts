/** The comments on the items of a dashboard: rows of the server, looked at again when they move. */

import { useCallback, useEffect, useMemo, useState } from 'react';
import { dashboardsApi, type Comment } from '../list/api';

export interface Comments {
  readonly list: readonly Comment[];
  /** Open ones by item. */
  readonly byItem: ReadonlyMap<string, number>;
  readonly open: number;
  readonly reload: () => void;
}

/** Comments of others are found by looking: they are few, and nobody waits for them. */
const LOOK_MS = 20_000;

export function useComments(id: string): Comments {
  const [list, setList] = useState<readonly Comment[]>([]);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let gone = false;
    const look = (): void => {
      if (document.visibilityState === 'hidden') return;
      dashboardsApi.comments(id).then(
        (found) => {
          if (!gone) setList(found);
        },
        // A guest has none; anybody else sees the last ones.
        () => undefined,
      );
    };
    look();
    const timer = window.setInterval(look, LOOK_MS);
    return () => {
      gone = true;
      window.clearInterval(timer);
    };
  }, [id, turn]);
  const reload = useCallback(() => setTurn((now) => now + 1), []);
  const byItem = useMemo(() => countOf(list), [list]);
  const open = useMemo(() => list.filter(({ resolved }) => !resolved).length, [list]);
  return { list, byItem, open, reload };
}

/** How many are open on each item. Pure. */
export function countOf(list: readonly Comment[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { item_id: item, resolved } of list)
    if (!resolved) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

/** The people whose names stand in a text after `@`, the longest name first. Pure. */
export function mentionsIn(
  text: string,
  people: readonly { readonly id: string; readonly name: string }[],
): readonly string[] {
  let rest = text.toLowerCase();
  const found: string[] = [];
  for (const { id, name } of [...people].sort((a, b) => b.name.length - a.name.length)) {
    const word = `@${name.toLowerCase()}`;
    if (name === '' || !rest.includes(word)) continue;
    found.push(id);
    rest = rest.replaceAll(word, '');
  }
  return found;
}
