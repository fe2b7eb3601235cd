import { describe, expect, it } from 'vitest';
import { leastCovering, placesIn } from './room';

const STAGE = { left: 200, top: 0, right: 1200, bottom: 800 };
const box = (left: number, top: number, width: number, height: number) => ({
  left,
  top,
  right: left + width,
  bottom: top + height,
});

describe('room for a notice', () => {
  it('is the middle below the upper edge where nothing lies', () => {
    const place = leastCovering(placesIn(STAGE, 300, 40), []);
    expect(place).toMatchObject({ left: 550, top: 12 });
  });

  it('moves aside from acts of the head and of what is below it', () => {
    const kept = [box(210, 8, 980, 34), box(560, 60, 200, 30)];
    const place = leastCovering(placesIn(STAGE, 300, 40), kept);
    expect(kept.every((one) => place.top >= one.bottom || place.left >= one.right)).toBe(true);
  });

  it('covers as little as it can where the page is full', () => {
    const rows = Array.from({ length: 40 }, (_, row) => box(200, row * 20, 500, 20));
    const place = leastCovering(placesIn(STAGE, 300, 40), rows);
    expect(place.left).toBeGreaterThanOrEqual(700);
  });

  it('stays within a window that is hardly larger than it', () => {
    const [place] = placesIn(box(0, 0, 320, 60), 300, 40);
    expect(place).toMatchObject({ left: 10, top: 12 });
  });
});
