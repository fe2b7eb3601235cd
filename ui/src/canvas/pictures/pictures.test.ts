import { describe, expect, it } from 'vitest';

import { gridOf } from '../items/grid';
import { nextOf } from './pictures';

const want = (terminalId: string) => ({ sandboxId: 'sb', terminalId });

describe('pictures of terminals', () => {
  it('are taken of those without one first, then of the oldest, two at a time', () => {
    const taken = new Map([
      ['old', { at: 10_000 }],
      ['older', { at: 5_000 }],
      ['fresh', { at: 95_000 }],
    ]);
    const all = ['fresh', 'old', 'older', 'none', 'none'].map(want);
    expect(nextOf(all, taken, 100_000)).toEqual([want('none'), want('older')]);
    expect(nextOf([want('fresh')], taken, 100_000)).toEqual([]);
  });
});

describe('the grid of a pane', () => {
  it('follows its box, and nothing else', () => {
    expect(gridOf({ w: 664, h: 416 })).toEqual({ cols: 81, rows: 19 });
    expect(gridOf({ w: 10, h: 10 })).toEqual({ cols: 20, rows: 5 });
  });
});
