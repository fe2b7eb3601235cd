import { describe, expect, it } from 'vitest';
import { withPort } from './ports';

describe('withPort', () => {
  it('keeps each port once and in order', () => {
    expect(withPort([80, 5000], 3000, true)).toEqual([80, 3000, 5000]);
    expect(withPort([80], 80, true)).toEqual([80]);
  });

  it('drops a port that is closed', () => {
    expect(withPort([80, 3000], 80, false)).toEqual([3000]);
    expect(withPort([], 80, false)).toEqual([]);
  });
});
