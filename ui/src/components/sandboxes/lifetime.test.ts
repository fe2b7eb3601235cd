import { describe, expect, it } from 'vitest';
import type { Profile } from '../../api/types';
import { extensionsOf, fittingLife, livesOf, secondsOf } from './lifetime';

const profile = (max?: string) => ({ ttl: { default: '1h', max } }) as unknown as Profile;
const spelled = (list: readonly { ttl: string }[]) => list.map(({ ttl }) => ttl);
const upTo = (latest: string) =>
  extensionsOf({ expires_at: '2026-01-01T00:00:00Z', max_expires_at: latest });

describe('the times of a sandbox', () => {
  it('are read as the API spells them', () => {
    expect(['90s', '1h30m', '7d', '0s', '', 'x', '1h x'].map(secondsOf)).toEqual([
      90,
      5_400,
      604_800,
      0,
      null,
      null,
      null,
    ]);
  });
  it('are no longer than the profile allows', () => {
    expect(spelled(livesOf(profile('4h')))).toEqual(['1h', '4h']);
    expect(spelled(livesOf(profile('30d'))).at(-1)).toBe('30d');
    expect(spelled(livesOf(undefined))).toContain('30d');
    expect(fittingLife('1d', profile('4h'))).toBe('');
    expect(fittingLife('1h', profile('4h'))).toBe('1h');
  });
  it('can be extended by what still fits, and to the latest end', () => {
    expect(spelled(upTo('2026-01-01T05:00:00Z'))).toEqual(['1h', '4h', '18000s']);
    expect(spelled(upTo('2026-01-01T00:30:00Z'))).toEqual(['1800s']);
    expect(spelled(upTo('2026-01-01T04:00:00Z'))).toEqual(['1h', '14400s']);
    expect(upTo('2026-01-01T00:00:30Z')).toEqual([]);
    expect(upTo('2025-12-31T00:00:00Z')).toEqual([]);
  });
});
