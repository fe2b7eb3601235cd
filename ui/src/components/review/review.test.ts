import { beforeEach, expect, test, vi } from 'vitest';
import { coloured, commentOf } from './diff/colours';
import { offsetsOf, rowsOf, widestOf, windowOf, type FileDiff, type Row } from './diff/rows';
import { visible } from '../../unseen';
import { loadSeen, markSeen } from './seen';
import { hunkOf, nextHunk, nextLine } from './diff/useLines';

const FILE: FileDiff = {
  path: 'a.py',
  old_path: null,
  old_mode: null,
  new_mode: null,
  binary: false,
  truncated: false,
  hunks: [
    {
      old_start: 1,
      old_lines: 3,
      new_start: 1,
      new_lines: 3,
      heading: 'def f():',
      lines: [' one', '-two', '-three', '+deux', ' four', '\\ No newline at end of file'],
    },
  ],
};
const NO_MARKS = { threads: [], editing: null };

beforeEach(() => {
  const kept = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
    key: (at: number) => [...kept.keys()][at] ?? null,
    get length() {
      return kept.size;
    },
  });
});

test('a file with one side only is not shown beside nothing', () => {
  const hunk = { old_start: 0, old_lines: 0, new_start: 1, new_lines: 1, heading: '' };
  const added = { ...FILE, hunks: [{ ...hunk, lines: ['+new'] }] };
  expect(rowsOf(added, true, NO_MARKS).map(({ kind }) => kind)).toEqual(['hunk', 'line']);
});

test('lines are numbered on both sides', () => {
  const rows = rowsOf(FILE, false, NO_MARKS);
  expect(rows[0]).toMatchObject({ kind: 'hunk', words: '@@ -1,3 +1,3 @@ def f():' });
  const numbers = rows.flatMap((row) =>
    row.kind === 'line' ? [[row.line.old, row.line.new]] : [],
  );
  expect(numbers).toEqual([
    [1, 1],
    [2, null],
    [3, null],
    [null, 2],
    [4, 3],
    [null, null],
  ]);
});

test('removed lines stand beside added ones', () => {
  const texts = (rows: readonly Row[]) =>
    rows.flatMap((row) =>
      row.kind === 'pair' ? [[row.left?.text ?? null, row.right?.text ?? null]] : [],
    );
  expect(texts(rowsOf(FILE, true, NO_MARKS)).slice(0, 4)).toEqual([
    ['one', 'one'],
    ['two', 'deux'],
    ['three', null],
    ['four', 'four'],
  ]);
});

test('a missing newline is marked on the side that lacks it', () => {
  const [hunk] = FILE.hunks;
  if (hunk === undefined) throw new Error('no hunk');
  const mark = '\\ No newline at end of file';
  const signs = (lines: string[]) =>
    rowsOf({ ...FILE, hunks: [{ ...hunk, lines }] }, true, NO_MARKS).flatMap((row) =>
      row.kind === 'pair' ? [[row.left?.sign ?? null, row.right?.sign ?? null]] : [],
    );
  expect(signs(['+new', mark])).toEqual([
    [null, '+'],
    [null, '\\'],
  ]);
  expect(signs(['-old', mark, '+new'])).toEqual([
    ['-', '+'],
    ['\\', null],
  ]);
});

test('the widest line of both sides counts as it is shown', () => {
  const [hunk] = FILE.hunks;
  if (hunk === undefined) throw new Error('no hunk');
  const widest = (...lines: string[]) =>
    widestOf(rowsOf({ ...FILE, hunks: [{ ...hunk, lines }] }, true, NO_MARKS));
  expect(widest('-12345', '+1')).toBe(5);
  expect(widest('-1', '+\tab', ' 12')).toBe(6);
  expect(widest('+漢字', ' 1')).toBe(4);
  expect(widest('+\u200b')).toBe('\\u{200b}'.length);
  expect(widestOf(rowsOf(FILE, false, NO_MARKS))).toBe(0);
});

test('only rows around the window are drawn', () => {
  const offsets = offsetsOf(
    Array<Row>(5000).fill({ kind: 'pair', left: null, right: null, of: 'diff' }),
  );
  expect(offsets.at(-1)).toBe(100_000);
  expect(windowOf(offsets, 50_000, 400)).toEqual([2480, 2540]);
  expect(windowOf(offsets, 0, 400)[0]).toBe(0);
});

test('characters that show nothing are spelled out', () => {
  expect(visible('a\u001b[2J\tb\u202ec')).toBe('a\\u{1b}[2J\tb\\u{202e}c');
  expect(visible('rm\u115f\u034f')).toBe('rm\\u{115f}\\u{34f}');
});

test('the keyboard goes from change to change', () => {
  const rows = rowsOf({ ...FILE, hunks: [...FILE.hunks, ...FILE.hunks] }, false, NO_MARKS);
  expect(nextHunk(rows, 0, 1)).toBe(2);
  expect(nextHunk(rows, 2, 1)).toBe(9);
  expect(nextHunk(rows, 9, 1)).toBe(9);
  expect(nextHunk(rows, 10, -1)).toBe(2);
  expect([hunkOf(rows, 3), hunkOf(rows, 9)]).toEqual([0, 1]);
  expect([nextLine(rows, 6, 1), nextLine(rows, 8, -1)]).toEqual([8, 6]);
});

test('pieces of a line are the line', () => {
  const python = commentOf('x/a.py');
  expect(python).not.toBeNull();
  const line = 'def f(a="x#y", b=1.5):  # a 😀 comment';
  const pieces = coloured(line, python ?? /$/);
  expect(pieces.map(([, text]) => text).join('')).toBe(line);
  expect(pieces.filter(([colour]) => colour !== null)).toEqual([
    ['keyword', 'def'],
    ['string', '"x#y"'],
    ['number', '1.5'],
    ['comment', '# a 😀 comment'],
  ]);
  expect(commentOf('notes.txt')).toBeNull();
});

test('a file that changed is no longer seen', () => {
  const seen = markSeen('sb', {}, 'a', 'd1');
  expect(loadSeen('sb')).toEqual({ a: 'd1' });
  expect(markSeen('sb', seen, 'a', null)).toEqual({});
  localStorage.setItem('atoll.seen.sb', '[');
  expect(loadSeen('sb')).toEqual({});
});
