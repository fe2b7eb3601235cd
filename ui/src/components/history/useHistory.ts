/** A history, page by page; it begins anew when a branch moved meanwhile. */

import { useCallback, useEffect, useRef, useState } from 'react';
import { useWatch, type News } from '../files/watch';
import { commits, type Commit, type CommitPage } from './commits';

export interface History {
  readonly page: CommitPage | null;
  readonly list: readonly Commit[];
  readonly problem: string | null;
  readonly more: () => void;
}

interface Loaded {
  readonly page: CommitPage | null;
  readonly list: readonly Commit[];
  readonly problem: string | null;
}

const NOTHING: Loaded = { page: null, list: [], problem: null };
/** Where git keeps what a branch is at; `repo` may lie in a folder. */
const MOVES = /(?:^|\/)\.git\/(?:HEAD|packed-refs|refs\/|logs\/)/;

/** The history with one more page, or anew where that page is of another one. */
async function read(
  before: Loaded,
  cursor: string,
  ask: (cursor: string) => Promise<CommitPage>,
): Promise<Loaded> {
  const page = await ask(cursor);
  const same = before.page?.digest === page.digest && before.list.length > 0;
  if (cursor === '') return same ? before : { page, list: page.commits, problem: null };
  if (same) return { page, list: [...before.list, ...page.commits], problem: null };
  return read(NOTHING, '', ask);
}

export function useHistory(id: string, repo: number, live: boolean): History {
  const [loaded, setLoaded] = useState<Loaded>(NOTHING);
  const now = useRef(loaded);
  const loading = useRef(false);
  const gone = useRef(false);

  const load = useCallback(
    async (cursor: string): Promise<void> => {
      if (loading.current) return;
      loading.current = true;
      const set = (next: Loaded): void => {
        if (gone.current) return;
        now.current = next;
        setLoaded(next);
      };
      try {
        set(await read(now.current, cursor, (from) => commits.list(id, repo, from)));
      } catch (reason) {
        const problem = reason instanceof Error ? reason.message : String(reason);
        set({ ...now.current, problem });
      } finally {
        loading.current = false;
      }
    },
    [id, repo],
  );

  useEffect(() => {
    gone.current = false;
    now.current = NOTHING;
    void load('');
    return () => {
      gone.current = true;
    };
  }, [load]);
  const onNews = useCallback(
    (news: News) => {
      if (news === 'all' || [...news].some((path) => MOVES.test(path))) void load('');
    },
    [load],
  );
  useWatch(id, live, onNews);
  const more = useCallback(() => {
    const next = now.current.page?.next;
    if (next != null) void load(next);
  }, [load]);
  return { ...loaded, more };
}
