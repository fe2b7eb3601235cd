import { describe, expect, it } from 'vitest';

import { MOST_IDS, peersOf } from './presence';

describe('presence', () => {
  it('is what others say, by name, without oneself', () => {
    const states = new Map<number, unknown>([
      [1, { user: { id: 'p_me', name: 'Me' } }],
      [3, { user: { id: 'p_b', name: 'Bo' }, cursor: { x: 1, y: 2 }, selection: ['itm_1'] }],
      [2, { user: { id: 'p_a', name: 'Ann' }, sees: { x: 0, y: 0, w: 10, h: 5 }, inside: 'itm_2' }],
    ]);
    const [ann, bo, none] = peersOf(states, 1);
    expect(none).toBeUndefined();
    expect(ann).toMatchObject({ name: 'Ann', sees: { w: 10 }, inside: 'itm_2', cursor: null });
    expect(bo).toMatchObject({ name: 'Bo', cursor: { x: 1, y: 2 }, selection: ['itm_1'] });
  });

  it('of anybody harms nothing', () => {
    const states = new Map<number, unknown>([
      [2, null],
      [3, 'x'],
      [
        4,
        {
          user: { name: 'x'.repeat(999) },
          cursor: { x: Infinity, y: 1 },
          sees: { x: 0, y: 0, w: -1, h: 1 },
          selection: Array.from({ length: 999 }, String),
          drag: { ids: 3, dx: '1' },
        },
      ],
    ]);
    const [peer, none] = peersOf(states, 1);
    expect(none).toBeUndefined();
    expect(peer?.name).toHaveLength(64);
    expect(peer?.selection).toHaveLength(MOST_IDS);
    expect(peer).toMatchObject({ cursor: null, sees: null, drag: null });
  });
});
