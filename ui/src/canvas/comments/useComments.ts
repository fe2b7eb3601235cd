/** The comments on the items of a dashboard: rows of the server, looked at again when they move. */

import { useCallback, useEffect, useMemo, useState } from 'react';
import { dashboardsApi, type Comment } from '../list/api';
import { countOf } from './mentions';

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
