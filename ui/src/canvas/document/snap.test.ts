import { describe, expect, it } from 'vitest';

import { freePlace, inReadingOrder, neighbour, overlap } from './geometry';
import { onGrid, snapEdges, snapMove } from './snap';

const box = (x: number, y: number, w = 100, h = 100) => ({ x, y, w, h });

describe('snapping', () => {
  it('brings edges and centres together, and shows where', () => {
    const { dx, dy, guides } = snapMove(box(203, 1), [box(0, 0, 200)], 6);
    expect([dx, dy]).toEqual([-3, -1]);
    expect(guides).toContainEqual({ axis: 'x', at: 200, from: 0, to: 100 });
  });

  it('falls back to the grid out of reach', () => {
    const { dx, dy, guides } = snapMove(box(303, 501), [box(0, 0)], 6);
    expect([303 + dx, 501 + dy]).toEqual([304, 504]);
    expect(guides).toEqual([]);
    expect(Object.is(onGrid(-1), 0)).toBe(true);
  });

  it('of a resize moves only the edge that is held', () => {
    const { dx, dy } = snapEdges(box(0, 0, 198, 97), { x: 'end', y: null }, [box(0, 200, 200)], 6);
    expect([dx, dy]).toEqual([2, 0]);
  });
});

describe('places', () => {
  it('are near and free', () => {
    const others = [box(0, 0), box(120, 0)];
    const place = freePlace(box(0, 0), others);
    expect(others.some((other) => overlap({ ...place, w: 100, h: 100 }, other))).toBe(false);
    expect(freePlace(box(900, 900), others)).toMatchObject({ x: 900, y: 900 });
  });

  it('have neighbours', () => {
    const list = [box(200, 0), box(0, 200), box(210, 210)];
    expect(neighbour(box(0, 0), list, 'right')).toBe(list[0]);
    expect(neighbour(box(0, 0), list, 'down')).toBe(list[1]);
    expect(neighbour(box(0, 0), list, 'up')).toBeNull();
    expect(inReadingOrder([box(300, 20), box(0, 0), box(0, 300)]).map(({ x }) => x)).toEqual([
      0, 300, 0,
    ]);
  });
});
