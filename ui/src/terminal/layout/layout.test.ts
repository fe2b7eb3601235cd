import { expect, test } from 'vitest';
import {
  dividersOf,
  gridOf,
  neighbour,
  only,
  panesOf,
  placesOf,
  readLayout,
  splitAt,
  withShare,
  type Layout,
} from './layout';

const THREE: Layout = {
  direction: 'row',
  share: 0.5,
  first: 'a',
  second: { direction: 'column', share: 0.25, first: 'b', second: 'c' },
};

test('splitting gives the new pane half of the room', () => {
  expect(placesOf(splitAt('a', 'a', 'row', 'b')).get('b')).toEqual({
    left: 0.5,
    top: 0,
    width: 0.5,
    height: 1,
  });
});

test('a pane that closes leaves its room to its neighbour', () => {
  const left = only(THREE, (pane) => pane !== 'b');
  expect(left).toEqual({ direction: 'row', share: 0.5, first: 'a', second: 'c' });
  expect(only(THREE, () => false)).toBeNull();
  expect(only(THREE, () => true)).toBe(THREE);
});

test('a grid of five has rows of three and two, each as high', () => {
  const grid = gridOf(['a', 'b', 'c', 'd', 'e']) ?? '';
  expect(panesOf(grid)).toEqual(['a', 'b', 'c', 'd', 'e']);
  const places = placesOf(grid);
  expect(places.get('a')?.width).toBeCloseTo(1 / 3);
  expect(places.get('c')?.left).toBeCloseTo(2 / 3);
  expect(places.get('e')).toEqual({ left: 0.5, top: 0.5, width: 0.5, height: 0.5 });
  expect(gridOf([])).toBeNull();
});

test('neighbours lie beyond the shared edge', () => {
  expect(neighbour(THREE, 'a', 'right')).toBe('c');
  expect(neighbour(THREE, 'c', 'up')).toBe('b');
  expect(neighbour(THREE, 'b', 'left')).toBe('a');
  expect(neighbour(THREE, 'a', 'left')).toBeNull();
  expect(neighbour(THREE, 'gone', 'left')).toBeNull();
});

test('a divider moves its own split, and never so far that a part is lost', () => {
  const [, inner] = dividersOf(THREE);
  expect(inner).toMatchObject({ path: [1], direction: 'column', share: 0.25 });
  const moved = withShare(THREE, inner?.path ?? [], 0.01);
  expect(placesOf(moved).get('b')?.height).toBeCloseTo(0.1);
  expect(placesOf(moved).get('a')?.width).toBe(0.5);
});

test.each([
  null,
  7,
  { direction: 'diagonal', share: 0.5, first: 'a', second: 'b' },
  { direction: 'row', share: 2, first: 'a', second: 'b' },
  { direction: 'row', share: 0.5, first: 'a', second: 'a' },
  { direction: 'row', share: 0.5, first: 'a' },
  'x'.repeat(200),
])('a stored layout that is none is refused: %j', (value) => {
  expect(readLayout(value)).toBeNull();
});

test('a stored layout is read back, and one too deep is refused', () => {
  expect(readLayout(JSON.parse(JSON.stringify(THREE)))).toEqual(THREE);
  let deep: Layout = 'p0';
  for (let i = 1; i < 12; i += 1) {
    deep = { direction: 'row', share: 0.5, first: `p${i}`, second: deep };
  }
  expect(readLayout(deep)).toBeNull();
});
