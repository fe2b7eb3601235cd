import { expect, test } from 'vitest';
import { baseOf, bodiesOf, branchOf, EMPTY, groupsOf, lackOf, membersOf } from './draft';

const DRAFT = { ...EMPTY, prompt: 'Fix the login page', agents: ['codex'] };

test('one agent gets the sentence; its branch is the server’s to name', () => {
  const [body] = bodiesOf({ ...DRAFT, repo: 'url', url: 'o/r' }, [], 'g');
  expect(body).toMatchObject({ agent: 'codex', prompt: 'Fix the login page' });
  expect(body?.task?.group).toBeNull();
  expect(body?.repos?.[0]).toMatchObject({ repo_url: 'o/r', branch: null });
});

test('several agents get a branch each and one group', () => {
  const draft = { ...DRAFT, agents: ['codex', 'claude-code'], repo: 'url', url: 'o/r' };
  const bodies = bodiesOf({ ...draft, branch: 'mine' }, [], 'g');
  expect(bodies.map((body) => body.repos?.[0]?.branch)).toEqual(['mine-codex', 'mine-claude-code']);
  expect(bodies.map((body) => body.task?.group)).toEqual(['g', 'g']);
});

test('several agents go on from the branch that somebody typed', () => {
  const draft = { ...DRAFT, agents: ['codex', 'pi'], repo: 'url', url: 'o/r', branch: ' mine ' };
  expect(baseOf(draft)).toBe('mine');
  expect(baseOf({ ...draft, fromBranch: 'main' })).toBeNull();
  expect(baseOf({ ...draft, branch: null })).toBeNull();
  expect(baseOf({ ...draft, agents: ['codex'] })).toBeNull();
  const from = (base: string | null) => bodiesOf(draft, [], 'g', base)[1]?.repos?.[0];
  expect(from('mine')).toMatchObject({ branch: 'mine-pi', from_branch: 'mine' });
  expect(from(null)).toMatchObject({ branch: 'mine-pi', from_branch: null });
});

test('a branch that somebody typed stays, also an empty one', () => {
  expect(branchOf({ ...DRAFT, branch: '' })).toBe('');
});

test('what asks is said in either mode', () => {
  const bodies = (mode: 'tui' | 'machine') => bodiesOf({ ...DRAFT, asks: true, mode }, [], 'g');
  expect(bodies('tui')[0]?.task?.permissions).toBe('ask');
  expect(bodies('machine')[0]?.task?.permissions).toBe('ask');
  // Left out, it is what the agent has: one that was added has no mode at a terminal.
  expect(bodies('tui')[0]?.task).not.toHaveProperty('mode');
});

test('what is missing is said', () => {
  expect(lackOf(EMPTY)?.text).toMatch('what is to be done');
  expect(lackOf({ ...DRAFT, agents: [] })?.text).toMatch('agent');
  expect(lackOf({ ...DRAFT, repo: 'url' })?.text).toMatch('address');
  expect(lackOf(DRAFT)).toBeNull();
});

test('only sandboxes of one sentence make a group', () => {
  const one = { state: 'ready', task: { group: 'a' } };
  const alone = { state: 'ready', task: { group: 'b' } };
  const gone = { state: 'destroyed', task: { group: 'b' } };
  const other = { state: 'ready', task: null };
  expect(groupsOf([one, alone, other, gone, one])).toEqual([[one, one]]);
  expect(membersOf([one, alone, gone, other], 'b')).toEqual([alone]);
});

test('a sandbox without an agent needs no words, and gets none', () => {
  const bare = { ...DRAFT, bare: true, prompt: '', name: ' lab ', agents: ['codex'] };
  expect(lackOf(bare)).toBeNull();
  const [body, ...others] = bodiesOf(bare, [], 'g');
  expect(others).toEqual([]);
  expect(body).toEqual({
    name: 'lab',
    repos: [],
    consumer: { actor: 'adm', harness: 'atoll-page' },
  });
});

test('a proposed branch is a free one', () => {
  expect(branchOf(DRAFT, new Set(['fix-login-page', 'fix-login-page-2']))).toBe('fix-login-page-3');
  expect(branchOf({ ...DRAFT, branch: 'fix-login-page' }, new Set(['fix-login-page']))).toBe(
    'fix-login-page',
  );
});
