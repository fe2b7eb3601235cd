/** A sandbox's tree as a view has it: loaded folder by folder, kept up by what changes. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { files } from './calls';
import {
  EMPTY,
  keyOf,
  nameOf,
  ROOT,
  rowsOf,
  toggled,
  touched,
  upserted,
  withFolder,
  type Entry,
  type Folder,
  type Place,
  type Row,
  type Tree,
} from './tree';
import { useWatch, type Liveness, type News } from './watch';

/** A folder of which more was read is kept up name by name. */
const PAGE = 1000;
/** More changes of it than these are read anew. */
const NAMES_MAX = 40;

export interface TreeView {
  readonly rows: readonly Row[];
  readonly liveness: Liveness;
  readonly toggle: (place: Place, open: boolean) => void;
  readonly more: (place: Place) => void;
  readonly refresh: () => void;
  /** Opens all folders that lead to a path. */
  readonly reveal: (path: string) => void;
}

const NOTHING: Folder = { entries: [], next: null, loading: true, problem: null };

export function useTree(id: string, live: boolean): TreeView {
  const [tree, setTree] = useState<Tree>(EMPTY);
  const now = useRef(tree);
  const places = useRef(new Map<string, Place>([[keyOf(ROOT), ROOT]]));
  const gone = useRef(false);
  const loading = useRef(new Set<string>());
  /** Folders that changed while they were being read. */
  const again = useRef(new Set<string>());

  const change = useCallback((by: (tree: Tree) => Tree) => {
    if (gone.current) return;
    now.current = by(now.current);
    setTree(now.current);
  }, []);

  const read = useCallback(
    async (place: Place, cursor: string | null): Promise<void> => {
      const key = keyOf(place);
      places.current.set(key, place);
      loading.current.add(key);
      const before = now.current.folders.get(key);
      if (before !== undefined) {
        change((tree) => withFolder(tree, place, { ...before, loading: true }));
      }
      try {
        const page = await files.list(id, place, cursor);
        const kept = cursor === null ? [] : (now.current.folders.get(key)?.entries ?? []);
        const entries = [...kept, ...page.entries];
        const next = page.next ?? null;
        change((tree) => withFolder(tree, place, { entries, next, loading: false, problem: null }));
      } catch (reason) {
        const problem = reason instanceof Error ? reason.message : String(reason);
        change((tree) =>
          withFolder(tree, place, { ...(before ?? NOTHING), loading: false, problem }),
        );
      } finally {
        loading.current.delete(key);
      }
    },
    [id, change],
  );
  const load = useCallback(
    async (place: Place, cursor: string | null): Promise<void> => {
      const key = keyOf(place);
      if (loading.current.has(key)) {
        // Whoever reads it reads it once more.
        if (cursor === null) again.current.add(key);
        return;
      }
      await read(place, cursor);
      while (again.current.delete(key) && !gone.current) await read(place, null);
    },
    [read],
  );

  useEffect(() => {
    gone.current = false;
    void load(ROOT, null);
    return () => {
      gone.current = true;
    };
  }, [load]);

  const refresh = useCallback(() => {
    for (const [key, place] of places.current) {
      if (now.current.open.has(key)) void load(place, null);
      else forget(change, key);
    }
  }, [load, change]);

  const onNews = useCallback(
    (news: News) => {
      if (news === 'all') {
        refresh();
        return;
      }
      for (const [key, paths] of touched(now.current, news)) {
        const place = places.current.get(key);
        const folder = now.current.folders.get(key);
        if (place === undefined || folder === undefined) continue;
        if (!now.current.open.has(key)) forget(change, key);
        else if (folder.entries.length < PAGE || paths.size > NAMES_MAX) void load(place, null);
        else void lookUp(id, place, paths, change);
      }
    },
    [id, load, refresh, change],
  );
  const liveness = useWatch(id, live, onNews);

  const toggle = useCallback(
    (place: Place, open: boolean) => {
      const key = keyOf(place);
      change((tree) => toggled(tree, key, open));
      if (open && !now.current.folders.has(key)) void load(place, null);
    },
    [change, load],
  );
  const more = useCallback(
    (place: Place) => void load(place, now.current.folders.get(keyOf(place))?.next ?? null),
    [load],
  );
  const reveal = useCallback(
    (path: string) => {
      const parts = path.split('/');
      parts.slice(0, -1).forEach((_, i) => {
        toggle({ path: parts.slice(0, i + 1).join('/'), exact: null }, true);
      });
    },
    [toggle],
  );
  const rows = useMemo(() => rowsOf(tree), [tree]);
  return { rows, liveness, toggle, more, refresh, reveal };
}

type Changing = (by: (tree: Tree) => Tree) => void;

/** Reads a closed folder anew when it is opened again. */
function forget(change: Changing, key: string): void {
  change((tree) => {
    const folders = new Map(tree.folders);
    folders.delete(key);
    return { ...tree, folders };
  });
}

/** Looks up single names of a large folder. */
async function lookUp(
  id: string,
  place: Place,
  paths: ReadonlySet<string>,
  change: Changing,
): Promise<void> {
  for (const path of paths) {
    let found: Entry | null = null;
    try {
      found = await files.stat(id, { path, exact: null });
    } catch {
      // It is gone by now.
    }
    change((tree) => {
      const folder = tree.folders.get(keyOf(place));
      if (folder === undefined) return tree;
      const entries = upserted(folder.entries, nameOf(path), found);
      return withFolder(tree, place, { ...folder, entries });
    });
  }
}
