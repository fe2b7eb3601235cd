import { describe, expect, it, vi } from 'vitest';
import type { Hit } from '../../api/overview';

const ways = vi.hoisted(() => ({ go: vi.fn(), goTo: vi.fn() }));
vi.mock('../../state/route', () => ways);
const { commandsOfHits } = await import('./hits');

function hit(kind: Hit['kind'], more: Partial<Hit> = {}): Hit {
  return { kind, id: 'x_1', title: 'Title', text: '', sandbox_id: null, at: null, ...more };
}

describe('hits of the search', () => {
  it('lead to what they name', () => {
    const profile = vi.fn();
    const hits = [
      hit('sandbox', { id: 'sb_1', sandbox_id: 'sb_1' }),
      hit('task', { sandbox_id: 'sb_2', text: 'Fix it' }),
      hit('event', { sandbox_id: 'sb_3' }),
      hit('secret'),
      hit('member'),
      hit('profile', { id: 'profile.x' }),
      hit('dashboard', { id: 'dsh_1' }),
    ];
    const commands = commandsOfHits(hits, new Set(), profile);
    for (const command of commands) command.run();
    expect(ways.go.mock.calls).toEqual([['sb_1'], ['sb_2'], ['sb_3', 'log']]);
    expect(ways.goTo.mock.calls).toEqual([['secrets'], ['team'], ['dashboards', 'dsh_1']]);
    expect(profile.mock.calls).toEqual([['profile.x']]);
    expect(commands[1]?.note).toBe('Task · Fix it');
  });

  it('are left out where they lead nowhere or are offered already', () => {
    const hits = [hit('event'), hit('sandbox', { id: 'sb_1', sandbox_id: 'sb_1' })];
    expect(commandsOfHits(hits, new Set(['go sb_1']), vi.fn())).toEqual([]);
  });
});
