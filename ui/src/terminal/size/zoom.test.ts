import { expect, test } from 'vitest';
import { newestOf, scrolled, textOf, zoomed, type Lines } from './zoom';

// A screen of 160 × 50 in letters of 14 px, in a window half as wide and a quarter as high.
const BIG = { now: 14, most: 14, least: 6, wide: 0.5, high: 0.25 } as const;

test('all of a large screen is shown, as long as it can be read', () => {
  expect(zoomed({ ...BIG, zoom: 'all', high: 0.45 })).toEqual({ px: 6, pans: false });
  expect(zoomed({ ...BIG, zoom: 'all' })).toEqual({ px: 6, pans: true });
});

test('the width of a large screen fits, and its height is scrolled', () => {
  expect(zoomed({ ...BIG, zoom: 'width' })).toEqual({ px: 7, pans: true });
});

test('the usual letters stay, and all is scrolled', () => {
  expect(zoomed({ ...BIG, zoom: 'text' })).toEqual({ px: 14, pans: true });
});

test('a small screen is never enlarged and nothing of it is out of view', () => {
  for (const zoom of ['all', 'width', 'text'] as const)
    expect(zoomed({ ...BIG, zoom, wide: 2, high: 3 })).toEqual({ px: 14, pans: false });
});

test.each([
  [9, 0],
  [10, 10],
  [34, 250],
])('row %i of ten in view: %i pixels down', (last, pixels) => {
  expect(scrolled({ last, rowPx: 10, roomPx: 100 })).toBe(pixels);
});

test('a row that is cut at the top is left out', () => {
  expect(scrolled({ last: 10, rowPx: 10, roomPx: 95 })).toBe(20);
});

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
