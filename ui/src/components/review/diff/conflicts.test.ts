import { expect, test } from 'vitest';
import { sideWords } from './conflicts';
import type { ReviewThread } from '../threads';
import { rowsOf, type FileDiff } from './rows';

const NO_MARKS = { threads: [], editing: null };

function file(...hunks: readonly (readonly string[])[]): FileDiff {
  return {
    ...{ path: 'a.py', old_path: null, old_mode: null, new_mode: null },
    ...{ binary: false, truncated: false },
    hunks: hunks.map((lines) => ({
      ...{ old_start: 1, old_lines: 1, new_start: 1, new_lines: 1, heading: '' },
      lines: [...lines],
    })),
  };
}

function shown(diff: FileDiff, split = false): readonly string[] {
  return rowsOf(diff, split, NO_MARKS, true).flatMap((row) => {
    if (row.kind === 'side') return [`[${row.part ?? ''}] ${row.marker}`];
    if (row.kind === 'sides') return [`[${row.ours}] | [${row.theirs}]`];
    if (row.kind === 'pair') return [`${row.left?.text ?? ''} | ${row.right?.text ?? ''}`];
    return row.kind === 'line' ? [`${row.part ?? '-'} ${row.line.text}`] : [];
  });
}

test('the sides of a conflict stand below their names, and markers are no lines', () => {
  const lines = ['+<<<<<<< HEAD', ' one', '+=======', '+two', '+>>>>>>> abc (mend)', ' three'];
  expect(shown(file(lines))).toEqual([
    '[ours] HEAD',
    'ours one',
    '[theirs] ',
    'theirs two',
    '- three',
  ]);
});

test('a conflict goes on in the next hunk, with what was before both', () => {
  const first = ['+<<<<<<< HEAD', '+one'];
  const second = ['+||||||| base', '+zero', '+=======', '-gone', '+two', '+>>>>>>> abc'];
  expect(shown(file(first, second))).toEqual([
    '[ours] HEAD',
    'ours one',
    '[base] base',
    'base zero',
    '[theirs] ',
    '- gone',
    'theirs two',
  ]);
});

test('the sides of a conflict stand beside each other, below what was before both', () => {
  const lines = ['-one', '+<<<<<<< HEAD', '+1', '+||||||| base', ' one', '+=======', '-old'];
  expect(shown(file([' top', ...lines, '+I', '+II', '+>>>>>>> abc (mend)', ' end']), true)).toEqual(
    [
      '- top',
      '- one',
      '- old',
      '[base] base',
      'base one',
      '[HEAD] | [abc (mend)]',
      '1 | I',
      ' | II',
      '- end',
    ],
  );
});

test('two conflicts in a row, and one that goes on in the next hunk, stay apart', () => {
  const first = ['+<<<<<<< HEAD', '+a', '+=======', '+b', '+>>>>>>> x', '+<<<<<<< HEAD', '+c'];
  const second = ['+d', '+=======', '+e', '+>>>>>>> y', ' end'];
  expect(shown(file(first, second), true)).toEqual([
    '[HEAD] | [x]',
    'a | b',
    '[HEAD] | []',
    'c | ',
    '[] | [y]',
    'd | e',
    '- end',
  ]);
});

test('a hunk with nothing but the end of a conflict shows no sides', () => {
  const first = ['+<<<<<<< HEAD', '+a', '+=======', '+b'];
  expect(shown(file(first, ['+>>>>>>> x', ' end']), true).slice(2)).toEqual(['- end']);
});

test('both sides of a conflict take comments, each at the line of its own', () => {
  const lines = ['+<<<<<<< HEAD', '+a', '+=======', '+b', '+>>>>>>> x'];
  const thread = { thread_id: 'thr_1' } as ReviewThread;
  const threads = [2, 4].map((line) => ({ thread, side: 'new', line }) as const);
  const marks = { threads, editing: null };
  const rows = rowsOf(file(lines), true, marks, true);
  expect(rows.map(({ kind }) => kind)).toEqual(['hunk', 'sides', 'pair', 'thread', 'thread']);
});

test('what only looks like a marker is a line', () => {
  expect(shown(file(['+=======', '+>>>>>>> abc', '+<<<<<<<<', ' title']))).toEqual([
    '- =======',
    '- >>>>>>> abc',
    '- <<<<<<<<',
    '- title',
  ]);
});

test('in a rebase the work is the second side, else the first', () => {
  expect(sideWords({ kind: 'rebase', onto: 'main' })).toMatchObject({
    ours: 'main',
    theirs: 'this work',
  });
  expect(sideWords({ kind: 'merge', onto: '' })).toMatchObject({
    ours: 'this work',
    theirs: 'the other side',
  });
});
