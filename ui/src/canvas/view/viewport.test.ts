import { describe, expect, it } from 'vitest';

import { fitted, panned, revealed, shown, toPlane, toWindow, zoomedAt, zoomStep } from './viewport';

const SIZE = { w: 1000, h: 500 };

describe('a viewport', () => {
  it('keeps the point under the pointer while it zooms', () => {
    const view = { x: 30, y: -20, zoom: 0.7 };
    const at = { x: 412, y: 99 };
    const under = toPlane(view, at);
    const next = zoomedAt(view, at, 1.9);
    expect(toWindow(next, under).x).toBeCloseTo(at.x);
    expect(toWindow(next, under).y).toBeCloseTo(at.y);
    expect(zoomedAt(view, at, 1e9).zoom).toBe(4);
  });

  it('fits what there is, and makes nothing larger than it is', () => {
    const box = { x: -500, y: 0, w: 5000, h: 100 };
    const view = fitted(box, SIZE);
    const window = shown(view, SIZE);
    expect(window.x).toBeLessThan(box.x);
    expect(window.x + window.w).toBeGreaterThan(box.x + box.w);
    expect(fitted({ x: 0, y: 0, w: 10, h: 10 }, SIZE).zoom).toBe(1);
  });

  it('moves as little as it takes to show a box', () => {
    const view = { x: 0, y: 0, zoom: 1 };
    expect(revealed(view, { x: 10, y: 100, w: 100, h: 100 }, SIZE)).toMatchObject({ x: -6, y: 0 });
    expect(revealed(view, { x: 990, y: 0, w: 100, h: 100 }, SIZE).x).toBe(106);
    expect(revealed(view, { x: 100, y: 100, w: 9, h: 9 }, SIZE)).toEqual(view);
  });

  it('pans by pixels and zooms by steps', () => {
    expect(panned({ x: 0, y: 0, zoom: 2 }, 10, -10)).toEqual({ x: 5, y: -5, zoom: 2 });
    expect([zoomStep(1, 1), zoomStep(1, -1), zoomStep(0.6, 1), zoomStep(4, 1)]).toEqual([
      1.5, 0.75, 0.75, 4,
    ]);
  });
});
