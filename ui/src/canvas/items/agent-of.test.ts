import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../api/types';
import { agentOf, shownOf } from './agent-of';

const agent = (id: string, mode: 'tui' | 'machine') => ({ id, mode });
const box = (...agents: readonly unknown[]) =>
  ({ sandbox_id: 'sb', agent: 'codex', agents }) as unknown as Sandbox;
const item = (terminalId: string | null, follows = false) => ({
  ...{ kind: 'agent', agent: '' },
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
  it('is the cards of an agent that has no terminal, before its sandbox is known, too', () => {
    const added = { ...item('a_1'), agent: 'acp:kimi' };
    for (const sandbox of [undefined, box(), box(agent('a_1', 'machine'))])
      expect(shownOf(added, sandbox)).toEqual({ is: 'cards', id: 'a_1' });
  });
  it('is the terminal that was last written down, for who does not see the sandbox', () => {
    const last = { is: 'terminal', id: 't_1' };
    expect(shownOf(item('t_1', true), null)).toEqual(last);
    expect(shownOf(item('t_1', true), undefined)).toEqual(last);
    expect(shownOf(item('t_1', true), box())).toEqual(last);
  });
});

describe('the agent that is started anew in an item', () => {
  const of = (title: string, agent = '', kind = 'agent') => ({
    ...{ kind, agent, title },
    terminalId: 't_1',
  });
  const home = { ...box(agent('t_2', 'tui')), agent: null, agents_inside: ['codex@0.171', 'pi'] };
  it('is the one that was there, whatever its person calls the item', () => {
    expect(agentOf(of('My reviewer', 'pi'), home)).toBe('pi');
    const known = { ...box({ ...agent('t_1', 'tui'), agent: 'pi' }), agents_inside: [] };
    expect(agentOf(of('My reviewer'), known)).toBe('pi');
  });
  it('is read from the title of an old document only where it names an agent', () => {
    expect(agentOf(of('codex'), home)).toBe('codex');
    expect(agentOf(of('My reviewer'), home)).toBeNull();
    expect(agentOf(of('My reviewer'), box())).toBe('codex');
    expect(agentOf(of('codex'), null)).toBeNull();
  });
  it('is none in a terminal', () => {
    expect(agentOf(of('codex', 'codex', 'terminal'), home)).toBeNull();
  });
});
