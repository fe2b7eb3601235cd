import { expect, test, vi } from 'vitest';
import type { Sandbox } from '../api/types';

vi.stubGlobal('location', { hash: '' });
vi.stubGlobal('window', { addEventListener: () => undefined });
vi.stubGlobal('localStorage', { getItem: () => null });
const { aboutWork, countsOf, nextAct, standingOf, sumOf } = await import('./standing');

const AT = '2026-01-01T12:00:00Z';

interface Given {
  readonly state?: string;
  readonly work?: Record<string, unknown> | null;
  readonly agents?: readonly string[];
}

function sandbox({ state = 'active', work = null, agents = [] }: Given): Sandbox {
  const statuses = agents.map((status, at) => ({
    id: `t_${at}`,
    agent: 'codex',
    mode: 'tui',
    status: { status, since: AT, on: 'npm test', question: 'Which?', turns: 1, reason: '' },
  }));
  const none = { commits: 0, plus: 0, minus: 0, conflict: null, merge: null, pull: null };
  return {
    sandbox_id: 'sb',
    name: 'box',
    state,
    agent: null,
    ready_at: AT,
    agents: statuses,
    work: work && { ...none, ...work },
  } as unknown as Sandbox;
}

test('the state of the work is shown before that of an agent, and before a stop', () => {
  const review = { state: 'to_review', plus: 3, minus: 2, commits: 1 };
  const done = sandbox({ work: review, agents: ['done'] });
  expect(standingOf(done)).toEqual({ state: 'to_review', words: 'To review', tone: 'review' });
  expect(aboutWork(done)).toBe('1 commit, +3 −2');
  expect(standingOf(sandbox({ state: 'stopped', work: review })).words).toBe('To review');
  expect(standingOf(sandbox({ state: 'expired', work: review })).words).toBe('Expired');
  expect(standingOf(sandbox({ state: 'stopped', work: { state: 'working' } })).words).toBe(
    'Stopped',
  );
});

test('what an agent reports takes precedence over a state that is older', () => {
  const review = { state: 'to_review', plus: 3, minus: 2 };
  const asks = sandbox({ work: review, agents: ['done', 'needs_you'] });
  expect([standingOf(asks).words, aboutWork(asks), nextAct(asks)]).toEqual([
    'Needs you',
    'Which?',
    'answer',
  ]);
  const works = sandbox({ work: review, agents: ['working'] });
  expect([standingOf(works).words, aboutWork(works), nextAct(works)]).toEqual([
    'Working',
    'npm test',
    null,
  ]);
  const away = sandbox({ work: { state: 'archived' }, agents: ['needs_you'] });
  expect(standingOf(away).words).toBe('Archived');
});

test('where the work went is said in a few words', () => {
  const about = (work: Record<string, unknown>): string => aboutWork(sandbox({ work }));
  expect(about({ state: 'merged', merge: { into: 'main' } })).toBe('into main');
  expect(about({ state: 'pr_open', pull: { pull: 7, base: 'main' } })).toBe('#7 into main');
  const conflict = { files: ['a.py'], more: 2 };
  expect(about({ state: 'in_conflict', conflict })).toBe('3 files');
  expect(about({ state: 'archived' })).toBe('');
  expect(countsOf(sandbox({ work: { state: 'merged' } }))).toBeNull();
});

test('how all of them stand is a line, those that need their person first', () => {
  const asks = sandbox({ agents: ['needs_you'] });
  const works = sandbox({ agents: ['working'] });
  expect(sumOf([sandbox({}), works, asks])).toBe('1 needs you · 1 working · 1 without an agent');
  expect(sumOf([asks, works, asks])).toBe('2 need you · 1 working');
  expect(sumOf([{ ...sandbox({}), agent: 'codex' }])).toBe('1 starting');
  const pull = sandbox({ work: { state: 'pr_open' } });
  expect(sumOf([pull, sandbox({ work: { state: 'to_review' } })])).toBe('1 PR open · 1 to review');
});
