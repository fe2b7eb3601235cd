import { expect, test, vi } from 'vitest';
import type { Sandbox } from '../../api/types';

vi.stubGlobal('location', { hash: '' });
vi.stubGlobal('window', { addEventListener: () => undefined });
vi.stubGlobal('localStorage', { getItem: () => null });
const { groupsOf, laneOf } = await import('./lanes');
const { isUnread } = await import('./unread');

function sandbox(id: string, work: string | null, repo = '', state = 'active'): Sandbox {
  return {
    ...{ sandbox_id: id, name: id, state, agent: null, agents: [] },
    work: work === null ? null : { state: work },
    repos: repo === '' ? [] : [{ repo_url: repo }],
  } as unknown as Sandbox;
}

test('each state has its column, and what runs without a task has the last', () => {
  const states = ['needs_you', 'in_conflict', 'queued', 'to_review', 'pr_open', 'pr_merged', null];
  expect(states.map((state) => laneOf(sandbox('a', state)))).toEqual([
    ...['needs', 'needs', 'working', 'review', 'reviewed', 'merged', 'none'],
  ]);
  expect(laneOf(sandbox('a', null, '', 'provisioning'))).toBe('working');
  expect(laneOf(sandbox('a', null, '', 'failed'))).toBe('needs');
});

test('groups stand by state or by repository, and only those that hold something', () => {
  const list = [
    sandbox('a', 'merged', 'https://x.example/o/b.git'),
    sandbox('b', 'to_review', 'git@x.example:o/a'),
    sandbox('c', null),
  ];
  const shown = (by: 'state' | 'repository') =>
    groupsOf(list, by).map(({ title, list: all }) => [title, all.map(({ name }) => name)]);
  expect(shown('state')).toEqual([
    ['To review', ['b']],
    ['Merged', ['a']],
    ['Without a task', ['c']],
  ]);
  expect(shown('repository')).toEqual([
    ['o/a', ['b']],
    ['o/b', ['a']],
    ['Without a repository', ['c']],
  ]);
});

test('a state that concerns its person is unread until it was looked at', () => {
  const review = sandbox('a', 'to_review');
  expect(isUnread(review, {})).toBe(true);
  expect(isUnread(review, { a: 'to_review' })).toBe(false);
  expect(isUnread(review, { a: 'working' })).toBe(true);
  expect(isUnread(sandbox('a', 'working'), {})).toBe(false);
  expect(isUnread(sandbox('a', null, '', 'failed'), { a: 'expired' })).toBe(true);
});
