import { beforeEach, expect, test, vi } from 'vitest';
import { coloured, commentOf } from './colours';
import { addComment, comments, commentsOf, promptOf, removeComment } from './comments';
import { offsetsOf, rowsOf, visible, windowOf, type FileDiff, type Row } from './rows';
import { loadSeen, markSeen } from './seen';

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
const NO_MARKS = { comments: [], editing: null };

beforeEach(() => {
  const kept = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
  });
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

test('comments and the editor follow their line', () => {
  const base = { id: 1, path: 'a.py', text: 'deux', words: 'why?' };
  const marks = {
    comments: [{ ...base, side: 'new', line: 2 } as const],
    editing: { side: 'old', line: 2 } as const,
  };
  const kinds = rowsOf(FILE, false, marks).map(({ kind }) => kind);
  expect(kinds).toEqual([
    'hunk',
    'line',
    'line',
    'editor',
    'line',
    'line',
    'comment',
    'line',
    'line',
  ]);
  const split = rowsOf(FILE, true, marks).map(({ kind }) => kind);
  expect(split.slice(2, 5)).toEqual(['pair', 'comment', 'editor']);
});

test('only rows around the window are drawn', () => {
  const offsets = offsetsOf(Array<Row>(5000).fill({ kind: 'pair', left: null, right: null }));
  expect(offsets.at(-1)).toBe(100_000);
  expect(windowOf(offsets, 50_000, 400)).toEqual([2480, 2540]);
  expect(windowOf(offsets, 0, 400)[0]).toBe(0);
});

test('characters that show nothing are spelled out', () => {
  expect(visible('a\u001b[2J\tb\u202ec')).toBe('a\\u{1b}[2J\tb\\u{202e}c');
});

test('comments become one prompt without control characters', () => {
  addComment('sb', { path: 'b.py', side: 'new', line: 3, text: ' x\u001b[2J = 1' }, ' use y ');
  addComment('sb', { path: 'a.py', side: 'old', line: 9, text: 'gone' }, 'keep it\nplease');
  const all = commentsOf(comments.get(), 'sb');
  expect(promptOf(all)).toBe(
    'Please address these 2 review comments on your changes.\n\n' +
      'a.py:9 (a line that was removed)\n> gone\nkeep it\nplease\n\nb.py:3\n> x [2J = 1\nuse y',
  );
  removeComment('sb', all[0]?.id ?? 0);
  expect(commentsOf(comments.get(), 'sb')).toHaveLength(1);
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
