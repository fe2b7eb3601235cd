import { expect, test } from 'vitest';
import { newestOf, textOf, type Lines } from './lines';

function buffer(lines: readonly string[], cursorY: number, baseY = 0, wrapped = -1): Lines {
  return {
    length: lines.length,
    baseY,
    cursorY,
    getLine: (y) => ({ isWrapped: y === wrapped, translateToString: () => lines[y] ?? '' }),
  };
}

test('wrapped lines are one, and blank ones at the end are left out', () => {
  expect(textOf(buffer(['one', 'two', '', ''], 0, 0, 1))).toBe('onetwo');
});

test.each([
  ['a shell at the top of its screen', ['$ ls', 'a', '$', '', ''], 2, 2],
  ['a blank line that the cursor is at', ['$ cat', '', '', '', ''], 1, 1],
  ['a program with a line below its cursor', ['>', '', '', 'status', ''], 0, 3],
  ['a full screen', ['1', '2', '3', '4', '5'], 4, 4],
])('the newest row of %s', (_, lines, cursorY, newest) => {
  expect(newestOf(buffer(lines, cursorY), 5)).toBe(newest);
  expect(newestOf(buffer(['above', ...lines], cursorY, 1), 5)).toBe(newest);
});
