import { describe, expect, it } from 'vitest';

import type { Envelope } from '../api/types';
import { withRefusal, type Refusal } from './refusals';

function refused(payload: Record<string, unknown>): Envelope {
  const at = '2026-01-01T12:00:00Z';
  return { id: 'ev_1', stream: 's', event_type: 'door.refused', at, reason: null, payload };
}

function shown(...payloads: Record<string, unknown>[]): readonly Refusal[] {
  return payloads.map(refused).reduce<readonly Refusal[]>(withRefusal, []);
}

describe('refusals', () => {
  it('of one destination are one line with the number of all', () => {
    const one = { host: 'a.example', port: 443, detail: 'no rule' };
    const [line, ...rest] = shown(one, { ...one, times: 59 }, one);
    expect(rest).toEqual([]);
    expect(line).toMatchObject({ host: 'a.example', times: 61, detail: 'no rule' });
  });

  it('too many to be told apart are a line of their own, which names the last', () => {
    const various = { code: 'various', times: 570, last: { host: 'h599.example', port: 443 } };
    const lines = shown({ host: 'a.example', port: 443 }, various, various);
    expect(lines.map(({ host, times }) => [host, times])).toEqual([
      ['', 1140],
      ['a.example', 1],
    ]);
    expect(lines[0]?.detail).toBe('last h599.example');
  });

  it('without a destination are left out', () => {
    expect(shown({ code: 'bad_request' })).toEqual([]);
  });
});
