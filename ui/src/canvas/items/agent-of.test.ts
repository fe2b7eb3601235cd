import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../api/types';
import { shownOf } from './agent-of';

const agent = (id: string, mode: 'tui' | 'machine') => ({ id, mode });
const box = (...agents: readonly unknown[]) =>
  ({ sandbox_id: 'sb', agent: 'codex', agents }) as unknown as Sandbox;
const item = (terminalId: string | null, follows = false) => ({
  kind: 'agent',
  terminalId,
  follows,
});

describe('what the item of an agent shows', () => {
  it('is the terminal that it names, whatever else runs there', () => {
    expect(shownOf(item('t_1'), box(agent('t_2', 'tui')))).toEqual({ is: 'terminal', id: 't_1' });
  });
  it('is the agent that its sandbox has now, where it follows that', () => {
    const now = { is: 'terminal', id: 't_2' };
    expect(shownOf(item(null), box(agent('t_2', 'tui')))).toEqual(now);
    expect(shownOf(item('t_1', true), box(agent('t_2', 'tui')))).toEqual(now);
    expect(shownOf(item('t_1', true), box(agent('a_1', 'machine')))).toEqual({
      is: 'cards',
      id: 'a_1',
    });
  });
  it('is the terminal that was last written down, for who does not see the sandbox', () => {
    const last = { is: 'terminal', id: 't_1' };
    expect(shownOf(item('t_1', true), null)).toEqual(last);
    expect(shownOf(item('t_1', true), undefined)).toEqual(last);
    expect(shownOf(item('t_1', true), box())).toEqual(last);
  });
});
