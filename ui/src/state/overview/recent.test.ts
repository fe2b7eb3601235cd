import { expect, it } from 'vitest';
import type { Envelope } from '../../api/types';
import { recentOf } from './recent';

function event(n: number, event_type: string, stream: string, payload = {}): Envelope {
  return {
    id: `ev_${n}`,
    event_type,
    stream,
    at: `2026-01-01T00:00:0${n}Z`,
    reason: null,
    payload,
  };
}

it('tells the newest events that have words, by the names of their subjects', () => {
  const events = [
    event(1, 'sandbox.ready', 'sandbox:sb_1', { name: 'old name' }),
    event(2, 'terminal.input', 'sandbox:sb_1'),
    event(3, 'secret.set', 'secret:s_1', { name: 'KEY' }),
    event(4, 'sandbox.failed', 'sandbox:sb_2', { name: 'gone' }),
  ];
  const name = (id: string): string | undefined => (id === 'sb_1' ? 'web' : undefined);
  const told = recentOf(events, name, 9).map(({ subject, words }) => `${subject} ${words}`);
  expect(told).toEqual(['gone failed', 'KEY was set', 'web is ready']);
  expect(recentOf(events, name, 1)).toHaveLength(1);
});
