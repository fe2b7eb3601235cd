import { beforeEach, expect, test, vi } from 'vitest';
import { api } from '../../api/client';
import type { Sandbox, SandboxAgent } from '../../api/types';
import { sandboxes } from '../../state/sandboxes';
import { coloured, commentOf } from './diff/colours';
import {
  addComment,
  collectedOf,
  comments,
  promptOf,
  queueComments,
  removeComments,
  restoreComments,
  rewordComment,
} from './comments';
import { fateOf, followComments } from './outbox';
import { collect } from './pulls';
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
const NO_MARKS = { comments: [], editing: null };

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

test('comments become one prompt without control characters', () => {
  addComment('sb', { path: 'b.py', side: 'new', line: 3, text: ' x\u001b[2J = 1' }, ' use y ');
  addComment('sb', { path: 'a.py', side: 'old', line: 9, text: 'gone' }, 'keep it\nplease');
  const all = collectedOf(comments.get(), 'sb').list;
  expect(promptOf(all)).toBe(
    'Please address these 2 review comments on your changes.\n\n' +
      'a.py:9 (a line that was removed)\n> gone\nkeep it\nplease\n\nb.py:3\n> x [2J = 1\nuse y',
  );
  removeComments('sb', all.slice(0, 1));
  expect(collectedOf(comments.get(), 'sb').list).toHaveLength(1);
});

test('comments of a pull request say who wrote them, and about what', () => {
  comments.set({});
  const comment = {
    id: 'x',
    author: 'ada',
    at: '',
    text: 'Why\u001b two?',
    path: null,
    line: null,
  };
  collect('sb', comment);
  collect('sb', { ...comment, path: 'a.py', line: 3 });
  expect(promptOf(collectedOf(comments.get(), 'sb').list)).toBe(
    'Please address these 2 review comments on your changes.\n\n' +
      'The whole\nada wrote on the pull request: Why  two?\n\n' +
      'a.py:3\nada wrote on the pull request: Why  two?',
  );
});

test('comments outlast the page, reworded and queued', () => {
  const place = { path: 'a.py', side: 'new', line: 3, text: 'x' } as const;
  comments.set({});
  addComment('sb', place, 'one');
  addComment('sb', { ...place, line: 4 }, 'two');
  const before = collectedOf(comments.get(), 'sb').list;
  rewordComment('sb', 1, ' better ');
  queueComments('sb', 't_1');
  comments.set({});
  restoreComments();
  const { list, queuedFor } = collectedOf(comments.get(), 'sb');
  expect(list.map(({ id, words }) => [id, words])).toEqual([
    [1, 'better'],
    [2, 'two'],
  ]);
  expect(queuedFor).toBe('t_1');
  // What was reworded while the prompt was under way was not sent, and stays.
  removeComments('sb', before);
  expect(collectedOf(comments.get(), 'sb').list).toHaveLength(1);
  removeComments('sb', collectedOf(comments.get(), 'sb').list);
  expect(collectedOf(comments.get(), 'sb').queuedFor).toBeNull();
  localStorage.setItem('atoll.comments.sb', '{"list": [{"id": "evil"}, 3], "queuedFor": 7}');
  localStorage.setItem('atoll.comments.other', '[');
  restoreComments();
  expect(comments.get()).toEqual({ sb: { list: [], queuedFor: null } });
});

test('queued comments wait for the end of the turn', () => {
  const agent = (status: string) =>
    ({ id: 't_1', agent: 'codex', mode: 'tui', status: { status } }) as SandboxAgent;
  expect(fateOf(undefined)).toBe('wait');
  expect(['working', 'needs_you'].map((one) => fateOf(agent(one)))).toEqual(['wait', 'wait']);
  expect(['done', 'idle', 'failed', 'stopped'].map((one) => fateOf(agent(one)))).toEqual([
    'send',
    'send',
    'send',
    'release',
  ]);
});

test('queued comments are sent once when the turn ends', async () => {
  vi.stubGlobal('window', { addEventListener: vi.fn(), removeEventListener: vi.fn(), setTimeout });
  vi.stubGlobal('navigator', {});
  const ask = vi.spyOn(api, 'ask').mockResolvedValue({} as never);
  const boxed = (status: string) =>
    [
      {
        sandbox_id: 'sb',
        name: 'box',
        agents: [{ id: 't_1', agent: 'codex', status: { status } }],
      },
    ] as unknown as readonly Sandbox[];
  comments.set({});
  addComment('sb', { path: 'a', side: 'new', line: 1, text: 'x' }, 'why?');
  queueComments('sb', 't_1');
  sandboxes.set(boxed('working'));
  const stop = followComments();
  expect(ask).not.toHaveBeenCalled();
  sandboxes.set(boxed('done'));
  sandboxes.set(boxed('idle'));
  await vi.waitFor(() => expect(collectedOf(comments.get(), 'sb').list).toHaveLength(0));
  expect(ask.mock.calls).toEqual([
    ['sb', 't_1', 'Please address this review comment on your changes.\n\na:1\n> x\nwhy?'],
  ]);
  ask.mockRejectedValue(new Error('gone'));
  addComment('sb', { path: 'a', side: 'new', line: 1, text: 'x' }, 'again');
  queueComments('sb', 't_1');
  await vi.waitFor(() => expect(collectedOf(comments.get(), 'sb').queuedFor).toBeNull());
  expect(collectedOf(comments.get(), 'sb').list).toHaveLength(1);
  // They go with their sandbox.
  sandboxes.set([]);
  expect(localStorage.getItem('atoll.comments.sb')).toBeNull();
  stop();
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
