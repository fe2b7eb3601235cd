/**
 * The rows of every sandbox that are in view, fetched page by page and kept fresh.
 *
 * What was seen before is shown until its page is there anew; a row that changed is changed in place.
 */

import { useCallback, useEffect, useRef, useState } from 'react';
import {
  overviewApi,
  type Overseen,
  type OverseenPage,
  type OverseenQuery,
} from '../../api/overview';
import { PAGE, pagesOf, type Span } from '../../state/overview/rows';

const FRESH_MS = 5_000;

interface Known {
  readonly key: string;
  readonly pages: ReadonlyMap<number, readonly Overseen[]>;
  readonly total: number;
  readonly tally: OverseenPage['tally'];
}

export interface EveryRows {
  /** Null until the first answer to this query. */
  readonly total: number | null;
  readonly tally: OverseenPage['tally'];
  readonly row: (index: number) => Overseen | undefined;
  readonly problem: string | null;
  readonly reload: () => void;
  /** Puts one answer in the place of the row it is about. */
  readonly keep: (row: Overseen) => void;
}

export function useEvery(organization: string, query: OverseenQuery, span: Span): EveryRows {
  const key = JSON.stringify([organization, query]);
  const [known, setKnown] = useState<Known | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const fetched = useRef(new Map<string, number>());
  const current = useRef<string | null>(null);
  const wanted = pagesOf(span).join(' ');
  const [moved, setMoved] = useState(0);

  useEffect(() => {
    current.current = key;
    return () => {
      current.current = null;
    };
  }, [key]);
  useEffect(() => {
    // An answer counts as long as its query is asked, however far the list was scrolled since.
    const counts = (): boolean => current.current === key;
    const asked = (JSON.parse(key) as [string, OverseenQuery])[1];
    const take = (offset: number, page: OverseenPage): void => {
      setProblem(null);
      setKnown((now) => {
        const pages = new Map(now?.key === key ? now.pages : []);
        pages.set(offset, page.sandboxes);
        return { key, pages, total: page.total, tally: page.tally };
      });
    };
    const load = (): void => {
      if (document.visibilityState === 'hidden') return;
      for (const offset of wanted.split(' ').map(Number)) {
        const name = `${key} ${offset}`;
        if (performance.now() - (fetched.current.get(name) ?? -FRESH_MS) < FRESH_MS - 50) continue;
        fetched.current.set(name, performance.now());
        overviewApi.every(organization, asked, offset, PAGE).then(
          (page) => {
            if (counts()) take(offset, page);
          },
          (reason: unknown) => {
            fetched.current.delete(name);
            if (counts()) setProblem(reason instanceof Error ? reason.message : String(reason));
          },
        );
      }
    };
    load();
    const timer = window.setInterval(load, FRESH_MS);
    return () => window.clearInterval(timer);
  }, [key, organization, wanted, moved]);

  const reload = useCallback(() => {
    fetched.current.clear();
    setMoved((now) => now + 1);
  }, []);
  const keep = useCallback((row: Overseen) => {
    setKnown((now) => {
      if (now === null) return now;
      const pages = new Map(now.pages);
      for (const [offset, rows] of pages) {
        const same = (one: Overseen): boolean => one.sandbox_id === row.sandbox_id;
        if (rows.some(same))
          pages.set(
            offset,
            rows.map((one) => (same(one) ? row : one)),
          );
      }
      return { ...now, pages };
    });
  }, []);
  const here = known?.key === key ? known : null;
  return {
    total: here?.total ?? null,
    tally: here?.tally ?? known?.tally ?? {},
    row: (index) => here?.pages.get(index - (index % PAGE))?.[index % PAGE],
    problem,
    reload,
    keep,
  };
}
