import { describe, expect, it } from 'vitest';
import { areaPath, countWords, highest, linePath, nearest, niceTop, placeOf } from './plot';

const frame = { width: 110, height: 120, left: 10, right: 0, top: 10, bottom: 10 };

describe('a plot', () => {
  it('has a round top', () => {
    expect([0, 1, 3, 7, 12, 99, 400].map((one) => niceTop(one))).toEqual([
      1, 1, 5, 10, 20, 100, 500,
    ]);
    expect(niceTop(1500, 1024)).toBe(2 * 1024);
    expect(niceTop(30 * 1024 ** 2, 1024)).toBe(50 * 1024 ** 2);
    expect(highest([[1, null, 7], [], [3]])).toBe(7);
    expect(highest([])).toBe(1);
  });

  it('breaks its lines where nobody watched', () => {
    expect(linePath([0, 10, null, 5], 10, frame)).toBe('M10.0 110.0L43.3 10.0M110.0 60.0l0 0');
    expect(areaPath([10, null, 5, 5], 10, frame)).toBe(
      'M10.0 110.0L10.0 10.0L10.0 110.0ZM76.7 110.0L76.7 60.0L110.0 60.0L110.0 110.0Z',
    );
    expect(linePath([null, null], 10, frame)).toBe('');
  });

  it('finds the point under a pointer', () => {
    expect([-5, 10, 60, 999].map((x) => nearest(x, 5, frame))).toEqual([0, 0, 2, 4]);
    expect(nearest(0, 0, frame)).toBeNull();
    expect(placeOf(0, 1, frame)).toBe(60);
  });

  it('says counts in few characters', () => {
    expect([0, 950, 999.6, 1000, 12_400, 3_100_000, 250_000_000].map(countWords)).toEqual([
      ...['0', '950', '1k', '1k', '12.4k', '3.1M', '250M'],
    ]);
  });
});
