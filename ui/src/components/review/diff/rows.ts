/** A diff as rows of known heights, so that only those on the screen are drawn. Pure. */

import type { Schemas } from '../../../api/types';
import { visible } from '../../../unseen';
import type { PlacedThread, Remark, ReviewThread } from '../threads';
import { gatherSides, sidesIn, type Marked, type Part, type Sides } from './conflicts';
import type { Place } from '../look';

export type FileDiff = Schemas['FileDiff'];

export interface Line {
  readonly sign: string;
  readonly old: number | null;
  readonly new: number | null;
  readonly text: string;
}

export type Row =
  | { readonly kind: 'hunk'; readonly words: string; readonly hunk: number }
  | { readonly kind: 'line'; readonly line: Line; readonly part: Part }
  | { readonly kind: 'side'; readonly part: Part; readonly marker: string }
  | { readonly kind: 'sides'; readonly ours: string; readonly theirs: string }
  | Pair
  | ThreadRowData
  | { readonly kind: 'editor' };

/** A thread; one that is `lost` is about no line that is shown. */
export interface ThreadRowData {
  readonly kind: 'thread';
  readonly placed: PlacedThread;
  readonly lost: boolean;
}

/** Two lines beside each other: the old and the new one, or those of the sides of a conflict. */
interface Pair {
  readonly kind: 'pair';
  readonly left: Line | null;
  readonly right: Line | null;
  readonly of: 'diff' | 'conflict';
}

export const HEIGHTS: Readonly<Record<Exclude<Row['kind'], 'thread'>, number>> = {
  hunk: 28,
  line: 20,
  side: 28,
  sides: 28,
  pair: 20,
  editor: 132,
};

const THREAD = { resolved: 44, acts: 44, lost: 26, line: 21, gap: 8, most: 240 };
/** About as many characters of a remark are beside each other. */
const REMARK_COLUMNS = 70;

/** The height of a row. A thread has that of its remarks, up to a bound beyond which it scrolls. */
export function heightOf(row: Row): number {
  if (row.kind !== 'thread') return HEIGHTS[row.kind];
  const { remarks, resolved } = row.placed.thread;
  const lost = row.lost ? THREAD.lost : 0;
  if (resolved !== null) return lost + THREAD.resolved;
  const said = remarks.reduce(
    (sum, { text }) => sum + THREAD.gap + Math.max(linesIn(text), 2) * THREAD.line,
    0,
  );
  return lost + THREAD.acts + Math.min(said, THREAD.most);
}

function linesIn(text: string): number {
  const lines = text.split('\n');
  return lines.reduce((sum, line) => sum + Math.ceil((line.length + 1) / REMARK_COLUMNS), 0);
}

/** The place that a comment on this line belongs to. */
export function placeOf(line: Line): Place | null {
  if (line.new !== null) return { side: 'new', line: line.new };
  return line.old === null ? null : { side: 'old', line: line.old };
}

interface Marks {
  readonly threads: readonly PlacedThread[];
  readonly editing: (Place & { readonly thread?: ReviewThread; readonly remark?: Remark }) | null;
}

/** The rows of a file; `split` puts the old side beside the new one, where both have lines. Of a file
 *  in conflict, it puts the sides of the conflict beside each other. */
export function rowsOf(
  file: FileDiff,
  split: boolean,
  marks: Marks,
  conflict = false,
): readonly Row[] {
  const all = file.hunks.map(linesOf);
  const sides = conflict ? sidesIn(all.flat()) : [];
  let before = 0;
  const rows = file.hunks.flatMap((hunk, at): Row[] => {
    const range = `-${hunk.old_start},${hunk.old_lines} +${hunk.new_start},${hunk.new_lines}`;
    const words = `@@ ${range} @@ ${hunk.heading}`.trimEnd();
    const lines = all[at] ?? [];
    const from = before;
    before += lines.length;
    const shown = conflict
      ? conflictRows(lines, sides.slice(from, before), split)
      : split && hasBothSides(file)
        ? paired(lines)
        : lines.map(lineRow);
    return [
      { kind: 'hunk', words, hunk: at },
      ...shown.flatMap((row) => [row, ...after(row, marks)]),
    ];
  });
  const found = new Set(rows.flatMap((row) => (row.kind === 'thread' ? [row.placed] : [])));
  const lost = marks.threads
    .filter((placed) => !found.has(placed))
    .flatMap((placed) => threadRows(placed, marks, true));
  const shown = [...lost, ...rows];
  // What somebody writes stays, though its line or its thread went meanwhile.
  const strays = marks.editing !== null && shown.every(({ kind }) => kind !== 'editor');
  return strays ? [{ kind: 'editor' }, ...shown] : shown;
}

const lineRow = (line: Line): Row => ({ kind: 'line', line, part: null });

function conflictRows(lines: readonly Line[], marks: readonly Marked[], split: boolean): Row[] {
  if (!split) return lines.flatMap((line, at) => rowOf(line, marks[at]));
  return gatherSides(lines, marks).flatMap((one) =>
    'ours' in one ? besideRows(one) : lineRow(one),
  );
}

/** A line's row: the head of a side in place of git's marker, and none for the end of the last. */
function rowOf(line: Line, { part, marker }: Marked = { part: null, marker: null }): Row[] {
  if (marker === null) return [{ kind: 'line', line, part }];
  return line.text.startsWith('>') ? [] : [{ kind: 'side', part, marker }];
}

/** What was removed and what was before both, then the sides beside each other. */
function besideRows({ removed, base, ours, theirs, names }: Sides): readonly Row[] {
  const before = base.map((line): Row => ({ kind: 'line', line, part: 'base' }));
  const pairs = Array.from({ length: Math.max(ours.length, theirs.length) }, (_, at): Row => {
    const [left, right] = [ours[at] ?? null, theirs[at] ?? null];
    return { kind: 'pair', left, right, of: 'conflict' };
  });
  return [
    ...removed.map(lineRow),
    ...(base.length > 0 ? [{ kind: 'side', part: 'base', marker: names.base } as const] : []),
    ...before,
    ...(pairs.length > 0
      ? [{ kind: 'sides', ours: names.ours, theirs: names.theirs } as const]
      : []),
    ...pairs,
  ];
}

/** False for a file that was added or removed: one side would be empty. */
function hasBothSides({ hunks }: FileDiff): boolean {
  return hunks.some((one) => one.old_lines > 0) && hunks.some((one) => one.new_lines > 0);
}

function linesOf(hunk: Schemas['Hunk']): readonly Line[] {
  let old = hunk.old_start;
  let now = hunk.new_start;
  return hunk.lines.map((whole): Line => {
    const sign = whole.slice(0, 1);
    const text = whole.slice(1);
    if (sign === '+') return { sign, old: null, new: now++, text };
    if (sign === '-') return { sign, old: old++, new: null, text };
    if (sign === '\\') return { sign, old: null, new: null, text };
    return { sign: ' ', old: old++, new: now++, text };
  });
}

/** Removed lines stand beside the lines added right after them. */
function paired(lines: readonly Line[]): readonly Row[] {
  const rows: Row[] = [];
  for (let at = 0; at < lines.length;) {
    const gone = side(lines, at, '-');
    const come = side(lines, at + gone.length, '+');
    const many = Math.max(gone.length, come.length);
    for (let i = 0; i < many; i += 1) {
      rows.push({ kind: 'pair', left: gone[i] ?? null, right: come[i] ?? null, of: 'diff' });
    }
    at += gone.length + come.length;
    if (many > 0) continue;
    const line = lines[at] ?? null;
    rows.push({ kind: 'pair', left: line, right: line, of: 'diff' });
    at += 1;
  }
  return rows;
}

/** Consecutive lines of one side, and the mark that its last one has no newline. */
function side(lines: readonly Line[], from: number, sign: string): readonly Line[] {
  let to = from;
  while (lines[to]?.sign === sign) to += 1;
  if (to > from && lines[to]?.sign === '\\') to += 1;
  return lines.slice(from, to);
}

function after(row: Row, marks: Marks): readonly Row[] {
  const lines = row.kind === 'line' ? [row.line] : row.kind === 'pair' ? sidesOf(row) : [];
  const { editing } = marks;
  const rows = marks.threads
    .filter(({ side, line }) => lines.some((one) => one[side] !== null && one[side] === line))
    .flatMap((placed) => threadRows(placed, marks, false));
  const opens =
    editing !== null &&
    editing.thread === undefined &&
    lines.some((line) => isAt(editing, placeOf(line)));
  return opens ? [...rows, { kind: 'editor' }] : rows;
}

const isAt = (place: Place, other: Place | null): boolean => other !== null && same(place, other);

/** A thread, and after it the editor that answers it. */
function threadRows(placed: PlacedThread, { editing }: Marks, lost: boolean): readonly Row[] {
  const row: Row = { kind: 'thread', placed, lost };
  const answered = editing?.thread?.thread_id === placed.thread.thread_id;
  return answered ? [row, { kind: 'editor' }] : [row];
}

/** The different lines of a pair. */
function sidesOf(row: { readonly left: Line | null; readonly right: Line | null }): Line[] {
  const both = row.left === row.right ? [row.left] : [row.left, row.right];
  return both.filter((line) => line !== null);
}

export const same = (a: Place, b: Place): boolean => a.side === b.side && a.line === b.line;

/** The columns of the widest line that has half of the width; 0 where none has. */
export function widestOf(rows: readonly Row[]): number {
  return rows.reduce((most, row) => {
    if (row.kind !== 'pair') return most;
    return sidesOf(row).reduce((wide, { text }) => Math.max(wide, columnsOf(text)), most);
  }, 0);
}

/** At most: a tab may be narrower, and a letter beyond ASCII may take one column. */
function columnsOf(text: string): number {
  let columns = 0;
  for (const char of visible(text)) columns += char === '\t' ? TAB : char > '~' ? 2 : 1;
  return columns;
}

/** Where each row begins, and at last where all of them end, in pixels. */
export function offsetsOf(rows: readonly Row[]): readonly number[] {
  let at = 0;
  return [0, ...rows.map((row) => (at += heightOf(row)))];
}

/** The rows between two heights: the first, and the one after the last. */
export function windowOf(
  offsets: readonly number[],
  top: number,
  height: number,
): readonly [number, number] {
  const first = Math.max(0, before(offsets, top) - 20);
  const last = Math.min(offsets.length - 1, before(offsets, top + height) + 20);
  return [first, last];
}

/** The last row that begins at or above a height. */
function before(offsets: readonly number[], height: number): number {
  let low = 0;
  let high = offsets.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((offsets[middle] ?? 0) <= height) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Columns between tab stops, as the style sheet has them. */
const TAB = 4;
