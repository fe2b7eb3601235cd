/** Where the keyboard is in a file's diff, and the remark that is being written there. */

import { useCallback, useMemo, useRef, useState } from 'react';
import type { Remark, ReviewThread } from '../threads';
import type { Place } from '../look';
import { placeOf, type Line, type Row, type ThreadRowData } from './rows';

/** A remark that is being written: it opens a thread at a line, answers `thread`, or rewords
 *  `remark` of it. */
export interface Editing extends Place {
  readonly text: string;
  readonly thread?: ReviewThread;
  readonly remark?: Remark;
}

export interface Lines {
  readonly cursor: number;
  readonly editing: Editing | null;
  readonly setEditing: (at: Editing | null) => void;
  readonly onRows: (rows: readonly Row[]) => void;
  readonly move: (by: number) => void;
  readonly moveHunk: (by: number) => void;
  readonly comment: () => void;
  /** The hunk that the keyboard is in; null before it went anywhere. */
  readonly hunk: () => number | null;
}

/** The line the keyboard is at, and the one that is commented on; both of one file. */
export function useLines(path: string): Lines {
  const rows = useRef<readonly Row[]>([]);
  const [at, setAt] = useState({ path, cursor: 0 });
  const [edited, setEdited] = useState<{ path: string; editing: Editing | null }>({
    path,
    editing: null,
  });
  const cursor = at.path === path ? at.cursor : 0;
  const onRows = useCallback((now: readonly Row[]) => {
    rows.current = now;
  }, []);
  const setEditing = useCallback((editing: Editing | null) => setEdited({ path, editing }), [path]);
  return useMemo(
    () => ({
      cursor,
      editing: edited.path === path ? edited.editing : null,
      setEditing,
      onRows,
      move: (by: number) => setAt({ path, cursor: nextLine(rows.current, cursor, by) }),
      moveHunk: (by: number) => setAt({ path, cursor: nextHunk(rows.current, cursor, by) }),
      comment: () => {
        const found = editingOf(rows.current[cursor]);
        if (found !== null) setEdited({ path, editing: found });
      },
      hunk: () => (cursor === 0 ? null : hunkOf(rows.current, cursor)),
    }),
    [cursor, edited, path, setEditing, onRows],
  );
}

function editingOf(row: Row | undefined): Editing | null {
  switch (row?.kind) {
    case 'thread':
      return row.placed.thread.resolved === null ? answerTo(row) : null;
    case 'line':
      return newAt(row.line);
    case 'pair':
      return newAt(row.right ?? row.left);
    default:
      return null;
  }
}

/** The editor that opens a thread at a line. */
function newAt(line: Line | null): Editing | null {
  const place = line === null ? null : placeOf(line);
  return line === null || place === null ? null : { ...place, text: line.text };
}

/** The editor that answers the thread of a row, or rewords a remark of it. */
export function answerTo(
  { placed: { thread, side, line } }: ThreadRowData,
  remark?: Remark,
): Editing {
  const place = { side, line: line ?? 0, text: '', thread };
  return remark === undefined ? place : { ...place, remark };
}

/** The next row that the keyboard stops at; the same when there is none. */
export function nextLine(rows: readonly Row[], from: number, by: number): number {
  for (let at = from + by; at >= 0 && at < rows.length; at += by) {
    const kind = rows[at]?.kind;
    if (kind === 'line' || kind === 'pair' || kind === 'thread') return at;
  }
  return from;
}

/** The first changed line of the next hunk, or of the one before. */
export function nextHunk(rows: readonly Row[], from: number, by: number): number {
  const starts = rows.flatMap((row, at) => (row.kind === 'hunk' ? [at] : []));
  const here = starts.filter((at) => at < from).length - 1;
  const start = starts[from === 0 && by > 0 ? 0 : here + by];
  if (start === undefined) return from;
  const end = starts.find((at) => at > start) ?? rows.length;
  const changed = rows.findIndex((row, at) => at > start && at < end && isChanged(row));
  return changed === -1 ? nextLine(rows, start, 1) : changed;
}

function isChanged(row: Row): boolean {
  if (row.kind === 'line') return row.line.sign === '+' || row.line.sign === '-';
  return row.kind === 'pair' && row.left !== row.right;
}

/** The hunk, by its place in the file, that a row belongs to. */
export function hunkOf(rows: readonly Row[], from: number): number | null {
  for (let at = from; at >= 0; at -= 1) {
    const row = rows[at];
    if (row?.kind === 'hunk') return row.hunk;
  }
  return null;
}
