import { expect, test } from 'vitest';
import { sideWords } from './conflicts';
import { rowsOf, type FileDiff } from './rows';

const NO_MARKS = { comments: [], editing: null };

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

function shown(diff: FileDiff): readonly string[] {
  return rowsOf(diff, true, NO_MARKS, true).flatMap((row) => {
    if (row.kind === 'side') return [`[${row.part ?? ''}] ${row.marker}`];
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
