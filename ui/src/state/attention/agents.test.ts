import { expect, test } from 'vitest';
import type { Envelope, Sandbox } from '../../api/types';
import { aboutOf, agentsOf, hasAgent, leadOf, needyFirst, withStatus } from './agents';

function never(): never {
  throw new Error('nobody is there');
}

const AT = '2026-01-01T12:00:00Z';

function sandbox(id: string): Sandbox {
  return {
    sandbox_id: id,
    name: `box ${id}`,
    state: 'active',
    agent: null,
    agents: [],
  } as unknown as Sandbox;
}

function event(payload: Record<string, unknown>): Envelope {
  return {
    id: 'ev_1',
    stream: 'sandbox:a',
    event_type: 'agent.status',
    at: AT,
    reason: null,
    payload: { agent: 'codex', mode: 'tui', since: AT, ...payload },
  };
}

function with_(list: readonly Sandbox[], id: string, payload: Record<string, unknown>) {
  return withStatus(list, id, event(payload)) ?? [];
}

test('an event changes its agent alone', () => {
  const list = [sandbox('a'), sandbox('b')];
  const one = with_(list, 'a', { id: 't_1', status: 'working', on: 'npm test' });
  const two = with_(one, 'a', { id: 't_2', status: 'idle' });
  const three = with_(two, 'a', { id: 't_1', status: 'done', plus: 12, minus: 3, commits: 1 });
  expect(three[1]).toBe(list[1]);
  expect(agentsOf(three[0] ?? sandbox('x')).map(({ id }) => id)).toEqual(['t_2', 't_1']);
  const lead = leadOf(three[0] ?? sandbox('x'));
  expect(lead && aboutOf(lead)).toBe('1 commit, +12 −3');
  const more = { id: 't_1', status: 'done', turns: 2, plus: 0, minus: 0, commits: 0 };
  const [four] = with_([sandbox('a')], 'a', more);
  expect(aboutOf(agentsOf(four ?? sandbox('x'))[0] ?? never())).toBe('2 turns');
});

test('an event that fits no sandbox or no status changes nothing', () => {
  expect(withStatus([sandbox('a')], 'b', event({ id: 't_1', status: 'done' }))).toBeNull();
  expect(withStatus([sandbox('a')], 'a', event({ id: 't_1', status: 'evil' }))).toBeNull();
  expect(withStatus([sandbox('a')], 'a', event({ status: 'done' }))).toBeNull();
});

test('who needs their person comes first, the longest waiting before the others', () => {
  let list: readonly Sandbox[] = [sandbox('a'), sandbox('b'), sandbox('c')];
  list = with_(list, 'a', { id: 't_1', status: 'working' });
  list = with_(list, 'c', { id: 't_1', status: 'working' });
  list = with_(list, 'c', { id: 't_2', status: 'needs_you', question: 'later', since: '2027' });
  list = with_(list, 'c', { id: 't_3', status: 'needs_you', question: 'first' });
  expect(needyFirst(list).map(({ sandbox_id: id }) => id)).toEqual(['c', 'a', 'b']);
  const lead = leadOf(list[2] ?? sandbox('x'));
  expect(lead && aboutOf(lead)).toBe('first');
  expect(list.map(hasAgent)).toEqual([true, false, true]);
});

test('an agent that is about to come for its task counts as one that is there', () => {
  const waits = { ...sandbox('a'), task: { state: 'waiting' } } as unknown as Sandbox;
  const failed = { ...sandbox('a'), task: { state: 'failed' } } as unknown as Sandbox;
  expect([waits, failed].map(hasAgent)).toEqual([true, false]);
});

test("a day's events of thirty sandboxes leave one entry per agent", () => {
  let list: readonly Sandbox[] = Array.from({ length: 30 }, (_, i) => sandbox(String(i)));
  for (let i = 0; i < 30_000; i += 1) {
    const next = { id: `t_${i % 200}`, status: i % 2 ? 'working' : 'needs_you', on: `step ${i}` };
    list = with_(list, String(i % 30), next);
  }
  expect(list).toHaveLength(30);
  expect(Math.max(...list.map((one) => agentsOf(one).length))).toBeLessThanOrEqual(80);
});
