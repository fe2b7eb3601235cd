/** The comments on the items of a dashboard: rows of the server, looked at again when they move. */

import { useCallback, useEffect, useMemo, useState } from 'react';
import { Problem } from '../../api/call';
import { dashboardsApi, type Comment } from '../list/api';
import { countOf } from './mentions';

export interface Comments {
  readonly list: readonly Comment[];
  /** Open ones by item. */
  readonly byItem: ReadonlyMap<string, number>;
  readonly open: number;
  /** Whether this server knows comments. */
  readonly known: boolean;
  readonly reload: () => void;
}

/** Comments of others are found by looking: they are few, and nobody waits for them. */
const LOOK_MS = 20_000;

export function useComments(id: string): Comments {
  const [list, setList] = useState<readonly Comment[]>([]);
  const [turn, setTurn] = useState(0);
  const [known, setKnown] = useState(true);
  useEffect(() => {
    let gone = false;
    const look = (): void => {
      if (document.visibilityState === 'hidden') return;
      dashboardsApi.comments(id).then(
        (found) => {
          if (!gone) setList(found);
        },
        (reason: unknown) => {
          // An older server has none, nor has a guest: then nobody looks again.
          if (gone || !(reason instanceof Problem) || reason.status !== 404) return;
          setKnown(false);
          window.clearInterval(timer);
        },
      );
    };
    const timer = window.setInterval(look, LOOK_MS);
    look();
    return () => {
      gone = true;
      window.clearInterval(timer);
    };
  }, [id, turn]);
  const reload = useCallback(() => setTurn((now) => now + 1), []);
  const byItem = useMemo(() => countOf(list), [list]);
  const open = useMemo(() => list.filter(({ resolved }) => !resolved).length, [list]);
  return { list, byItem, open, known, reload };
}
