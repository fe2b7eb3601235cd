import { describe, expect, it } from 'vitest';
import { drawn, PAGE, pagesOf, SPARE } from './rows';

describe('drawn', () => {
  it('draws what is in view and a little more', () => {
    expect(drawn(0, 400, 40, 10_000)).toEqual({ begin: 0, end: 10 + SPARE });
    expect(drawn(4_000, 400, 40, 10_000)).toEqual({ begin: 100 - SPARE, end: 110 + SPARE });
  });

  it('stays within the list', () => {
    expect(drawn(399_600, 400, 40, 10_000)).toEqual({ begin: 9_990 - SPARE, end: 10_000 });
    expect(drawn(9_999_999, 400, 40, 3)).toEqual({ begin: 3, end: 3 });
    expect(drawn(-50, 400, 40, 0)).toEqual({ begin: 0, end: 0 });
  });
});

describe('pagesOf', () => {
  it('names the pages of a span, and the first one of an empty list', () => {
    expect(pagesOf({ begin: 0, end: 20 })).toEqual([0]);
    expect(pagesOf({ begin: PAGE - 1, end: PAGE + 1 })).toEqual([0, PAGE]);
    expect(pagesOf({ begin: 2 * PAGE, end: 3 * PAGE })).toEqual([2 * PAGE]);
    expect(pagesOf({ begin: 0, end: 0 })).toEqual([0]);
  });
});
