/** The changes of a sandbox as they are now, and the diff of one file. */

import { useEffect, useState } from 'react';
import { t } from '../../language/t';
import { reviews, type ChangedFile, type Changes, type Compared } from './reviews';
import type { FileDiff } from './diff/rows';
import { passes, pause } from './retry';

export interface Loaded<T> {
  readonly value: T | null;
  readonly problem: string | null;
}

const EMPTY = { value: null, problem: null };

/** Follows the changes; while the sandbox does not run they are read once. */
export function useChanges(id: string, compared: Compared, live: boolean): Loaded<Changes> {
  const [loaded, setLoaded] = useState<Loaded<Changes>>(EMPTY);
  useEffect(() => {
    let gone = false;
    const isGone = (): boolean => gone;
    const follow = async (): Promise<void> => {
      let since: string | null = null;
      while (!isGone()) {
        try {
          const value: Changes = await reviews.changes(id, compared, since);
          if (isGone()) return;
          if (value.digest !== since) setLoaded({ value, problem: null });
          since = value.digest;
          if (!live) return;
          await shown();
        } catch (reason) {
          if (isGone()) return;
          setLoaded((now) => ({ value: now.value, problem: wordsOf(reason) }));
          if (!passes(reason)) return;
          await pause();
          // Read at once, not when they next differ: what is shown says that it is old.
          since = null;
        }
      }
    };
    void follow();
    return () => {
      gone = true;
    };
  }, [id, compared, live]);
  return loaded;
}

/** Loads the diff of a file, and again whenever its digest changes. One that git has no lines of,
 * because only blanks differ or its name cannot be sent, has no hunks. */
export function useDiff(
  id: string,
  compared: Compared,
  file: ChangedFile,
  blanks: boolean,
): Loaded<FileDiff> {
  const [loaded, setLoaded] = useState<Loaded<FileDiff>>(EMPTY);
  const { path, old_path: old, digest } = file;
  useEffect(() => {
    let gone = false;
    const isGone = (): boolean => gone;
    const load = async (): Promise<void> => {
      while (!isGone()) {
        try {
          const paths = old === null ? [path] : [path, old];
          const { files } = await reviews.diff(id, compared, paths, blanks);
          if (isGone()) return;
          const value = files.find((one) => one.path === path) ?? withoutLines(path);
          setLoaded({ value, problem: null });
          return;
        } catch (reason) {
          if (isGone()) return;
          setLoaded({ value: null, problem: wordsOf(reason) });
          if (!passes(reason)) return;
          await pause();
        }
      }
    };
    void load();
    return () => {
      gone = true;
    };
  }, [id, compared, path, old, digest, blanks]);
  return loaded;
}

const withoutLines = (path: string): FileDiff => ({
  path,
  old_path: null,
  old_mode: null,
  new_mode: null,
  binary: false,
  truncated: false,
  hunks: [],
});

const wordsOf = (reason: unknown): string =>
  reason instanceof Error ? reason.message : t`The changes could not be read.`;

/** Resolves once the page is on the screen. */
function shown(): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((done) => {
    const look = (): void => {
      if (document.hidden) return;
      document.removeEventListener('visibilitychange', look);
      done();
    };
    document.addEventListener('visibilitychange', look);
  });
}
